#include <string_view>

#include "stack/stacks.h"

namespace tprof {
namespace {

constexpr size_t kMaxDepth = 24;

struct Row {
  hang::Wait kind;
  std::string_view file, function;
  const char* text;
};
constexpr Row kRows[] = {
#define WAIT(kind, file, function, text) {hang::Wait::kind, file, function, text},
#include "stack/waits.def"
#undef WAIT
};

bool matches(const Row& row, const ThreadFrame& frame) {
  if (frame.python != !row.file.empty()) return false;
  if (!frame.python) {
    bool by_image = row.function.find('.') != row.function.npos;
    if (by_image && !frame.function.empty()) return false;
    std::string_view name = by_image ? frame.file : frame.function;
    // libc's functions have several names, with more or fewer underscores in front.
    size_t start = name.find_first_not_of('_');
    return start != name.npos && name.substr(start).starts_with(row.function);
  }
  return frame.function == row.function && frame.file.ends_with(row.file);
}

// A Python frame of code that the table knows nothing of. What its callers are there for says nothing about what it
// waits for itself.
bool is_of_others(const ThreadFrame& frame) {
  if (!frame.python) return false;
  for (const Row& row : kRows)
    if (!row.file.empty() && frame.file.ends_with(row.file)) return false;
  return true;
}

// How many of the innermost frames count for a row. What takes a lock calls nothing, so it is innermost wherever it
// stands: of an interpreter without symbols it is not known which of its frames the Python frames belong to, and these
// come first.
size_t reach(const std::vector<ThreadFrame>& frames, bool takes_lock) {
  size_t counted = 0, out = 0;
  for (; out < frames.size() && counted < kMaxDepth; out++) {
    if (!takes_lock && is_of_others(frames[out])) break;
    counted += !takes_lock || !frames[out].python;
  }
  return out;
}

}  // namespace

Waiting waits_for(const std::vector<ThreadFrame>& frames) {
  const size_t reaches[] = {reach(frames, false), reach(frames, true)};
  for (const Row& row : kRows)
    for (size_t i = 0; i < reaches[row.file.empty() && row.kind == hang::Wait::lock]; i++) {
      if (!matches(row, frames[i])) continue;
      std::string text = row.text;
      if (size_t at = text.find('%'); at != std::string::npos)
        text.replace(at, 1, frames[i].function.substr(0, frames[i].function.find('(')));
      return {row.kind, text};
    }
  return {};
}

}  // namespace tprof
