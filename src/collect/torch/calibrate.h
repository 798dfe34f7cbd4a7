// Proof that encode_inputs() reads this torch as it should: a few operators with known inputs are run from
// Python while a callback of ours looks on, and each input must decode to what went in.
//
//   if (calibration_begin(layout)) { run kCalibrationScript; calibration_end(layout); }
//
// GIL held, all on one thread, after discover_layout(). Without Python discover_layout()'s verdict stands. A
// torch that lacks what discover_values() asks is tried with the known layouts here, so then the script
// decides alone.
#pragma once
#include "collect/torch/layout.h"

namespace tprof {

// Needs only `torch`; well under a millisecond; no random numbers, no gradients, no state left behind.
extern const char kCalibrationScript[];

// False: nothing to calibrate (inputs cannot be had at all); `layout` says why.
bool calibration_begin(TorchLayout& layout);

// Sets inputs_ok and inputs_checked. An operator that decoded wrongly switches the inputs off; a script that
// did not run (0 operators seen) leaves them as discover_layout() had them. Returns inputs_ok.
bool calibration_end(TorchLayout& layout);

}  // namespace tprof
