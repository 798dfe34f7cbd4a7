// Joins tprof to the torch that is mapped in this process: layouts, callbacks, capabilities.
#pragma once
#include "collect/session/session.h"
#include "collect/torch/layout.h"

namespace tprof {

extern TorchLayout g_torch;

// Session::attach() with torch as its frontend. `phase_changed`: who else follows the phase, nullptr: nobody. False: this
// process is not to be profiled.
bool torch_join(StepMode fallback, void (*phase_changed)(Phase));
// After torch_join(), torch complete, no dlopen in progress. False (said in one line): nothing can be had.
bool torch_attach();
// After calibration: what works here, into the recording.
void torch_note_capabilities();
// A C++ program linked with libtorch: attaches and starts, if torch is mapped. Before main.
void torch_attach_native();

bool torch_mapped();
bool torch_grad_enabled();

}  // namespace tprof
