// Merges the native and the Python stack of one moment into one chain: each native frame in which the interpreter
// evaluates Python is replaced by the Python frames that it evaluates.
#pragma once
#include <vector>

#include "base/types.h"

namespace tprof {

struct ChainFrame {
  u32 text;  // an index of the caller's, for the result
  // Native: it evaluates Python. Python: it is the first frame of its native frame (since 3.11 calls from Python to
  // Python stay in the same native frame).
  bool mark;
  bool interpreter = false;  // native: code of the interpreter
};

// All chains start with the innermost frame. Python frames whose evaluating frame is missing (the native stack was cut)
// come last; an evaluating frame without a Python frame stays. If no native frame is marked (in a stripped interpreter
// whose evaluation consists of many local functions, as it may in 3.14), all Python frames are put inside of the
// interpreter's innermost frame.
std::vector<u32> interleaved(const std::vector<ChainFrame>& native, const std::vector<ChainFrame>& python);

}  // namespace tprof
