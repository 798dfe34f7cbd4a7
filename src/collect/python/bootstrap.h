// How tprof gets to run inside an unmodified `python train.py`: an audit hook (PEP 578), added while the interpreter is
// set up (inittab.h), sees that torch is being imported and runs a small script that waits until it is complete.
#pragma once

namespace tprof {

// Called by the library's constructor. False if this process is not Python 3.8 or later.
bool python_install();

}  // namespace tprof
