// One chain of frames from the native and the Python stack of one moment: each frame in which the interpreter evaluates
// is replaced by the Python frames that it evaluates.
#pragma once
#include <vector>

#include "base/types.h"

namespace tprof {

struct ChainFrame {
  u32 text;  // whatever names the frame
  bool
      mark;  // native: evaluates Python; Python: its evaluation began with it (since 3.11 calls from Python to Python go on
             // in the same native frame)
  bool interpreter = false;  // native: code of the interpreter
};

// Where no evaluation is told (a stripped interpreter whose evaluation is made of many local functions, as 3.14's can be), all
// Python frames stand inside of the interpreter's innermost frame.
//
// Both innermost first, as is the result. Python frames without an evaluation frame of theirs (the native stack was cut)
// come last; an evaluation frame without a Python frame of its own stays.
std::vector<u32> interleaved(const std::vector<ChainFrame>& native, const std::vector<ChainFrame>& python);

}  // namespace tprof
