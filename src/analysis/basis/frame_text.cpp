#include "analysis/basis/frame_text.h"

#include <charconv>

namespace tprof {

FramePlace place_of_frame(const std::string& text, bool native) {
  FramePlace out;
  size_t close = text.rfind("): "), open = close == text.npos ? close : text.rfind('(', close);
  if (open != text.npos) {
    const char *first = text.data() + open + 1, *last = text.data() + close;
    bool has_line = first != last && std::from_chars(first, last, out.line).ptr == last;
    if (!has_line) out.line = -1;
    if (has_line || !native) {
      out.file = text.substr(0, open);
      out.function = text.substr(close + 3);
      return out;
    }
  }
  size_t image_end = native ? text.find(": ") : text.npos;
  if (image_end != text.npos) return {text.substr(image_end + 2), text.substr(0, image_end), -1};
  size_t offset = native ? text.rfind("+0x") : text.npos;
  if (offset != text.npos) return {text.substr(0, offset) + " (no symbol)", text.substr(0, offset), -1};
  return {text, "", -1};
}

}  // namespace tprof
