// Proves that encode_inputs() reads the inputs of this torch correctly: a few operators with known inputs run from
// Python while a callback of ours observes them, and each input must decode to what was passed.
//
//   if (calibration_begin(layout)) { run kCalibrationScript; calibration_end(layout); }
//
// GIL held, all on one thread, after discover_layout(). Without Python the result of discover_layout() is final. If
// torch lacks a function that discover_values() needs, the known layouts are tried here, and the script alone decides.
#pragma once
#include "collect/torch/layout.h"

namespace tprof {

// Needs only `torch`, takes well under a millisecond, uses no random numbers or gradients, and leaves no state behind.
extern const char kCalibrationScript[];

// False: nothing to calibrate, since the inputs cannot be found at all; `layout` holds the reason.
bool calibration_begin(TorchLayout& layout);

// Sets inputs_ok and inputs_checked, and returns inputs_ok. An operator that decoded wrongly switches the inputs off. A
// script that did not run (no operator was seen) leaves them as discover_layout() set them.
bool calibration_end(TorchLayout& layout);

}  // namespace tprof
