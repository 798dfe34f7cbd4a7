// Joins tprof to the torch that is mapped in this process: layouts, callbacks, capabilities.
#pragma once
#include "collect/session/session.h"
#include "collect/torch/layout.h"

namespace tprof {

extern TorchLayout g_torch;

// Session::attach() with torch as its frontend, see Frontend. False: this process must not be profiled.
bool torch_join(StepMode fallback, void (*phase_changed)(Phase), void (*pass_phase_on)());
// Call after torch_join(), when torch is completely imported and no dlopen is in progress. False: this torch cannot be
// profiled, which one line on stderr says.
bool torch_attach();
// Notes in the recording what works here. Call after calibration.
void torch_note_capabilities();
// For C++ programs that are linked with libtorch: attaches and starts if torch is mapped. Call before main.
void torch_attach_native();

bool torch_mapped();
bool torch_grad_enabled();

}  // namespace tprof
