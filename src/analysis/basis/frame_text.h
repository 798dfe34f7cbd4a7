// The text of a frame, taken apart.
#pragma once
#include <string>

#include "base/types.h"

namespace tprof {

struct FramePlace {
  std::string function;
  std::string file;  // or the image of a native frame; empty: not known
  i64 line = -1;     // -1: not known
};

// Python: "file(line): function". Native: that, "image: function" or "image+0x1234".
FramePlace place_of_frame(const std::string& text, bool native);

}  // namespace tprof
