// How tprof comes to run inside an unmodified `python train.py`: an audit hook (PEP 578), set while the interpreter is
// set up (inittab.h), sees `import torch` and runs a small script that waits for torch to be complete.
#pragma once
#include "record/record.h"

namespace tprof {

// In the library's constructor. False in a process that is no Python >= 3.8.
bool python_install();
// True once the process turned out to be a Python.
bool python_process();
// Tells the Python side the phase, soon and on the main thread. Any thread, GIL or not.
void python_phase_changed(Phase phase);

}  // namespace tprof
