// How tprof comes to run inside an unmodified `python train.py`: an audit hook (PEP 578), set while the interpreter is
// set up (inittab.h), sees `import torch` and runs a small script that waits for torch to be complete.
#pragma once

namespace tprof {

// In the library's constructor. False in a process that is no Python >= 3.8.
bool python_install();

}  // namespace tprof
