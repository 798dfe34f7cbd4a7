#include "symbols/interleave.h"

#include <algorithm>

namespace tprof {

std::vector<u32> interleaved(const std::vector<ChainFrame>& native, const std::vector<ChainFrame>& python) {
  std::vector<u32> out;
  out.reserve(native.size() + python.size());
  size_t next = 0;
  auto is_marked = [](const ChainFrame& frame) { return frame.mark; };
  bool any_marked = std::any_of(native.begin(), native.end(), is_marked);
  for (const ChainFrame& frame : native) {
    if (!any_marked && frame.interpreter)
      for (; next < python.size(); next++) out.push_back(python[next].text);
    if (!frame.mark || next == python.size()) {
      out.push_back(frame.text);
      continue;
    }
    while (next < python.size()) {
      const ChainFrame& python_frame = python[next++];
      out.push_back(python_frame.text);
      if (python_frame.mark) break;
    }
  }
  for (; next < python.size(); next++) out.push_back(python[next].text);
  return out;
}

}  // namespace tprof
