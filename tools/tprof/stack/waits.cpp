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
  // libc's functions have several names, with more or fewer underscores in front.
  size_t start = frame.function.find_first_not_of('_');
  if (!frame.python)
    return start != std::string::npos && std::string_view(frame.function).substr(start).starts_with(row.function);
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

}  // namespace

Waiting waits_for(const std::vector<ThreadFrame>& frames) {
  size_t depth = 0;
  while (depth < frames.size() && depth < kMaxDepth && !is_of_others(frames[depth])) depth++;
  for (const Row& row : kRows)
    for (size_t i = 0; i < depth; i++) {
      if (!matches(row, frames[i])) continue;
      std::string text = row.text;
      if (size_t at = text.find('%'); at != std::string::npos)
        text.replace(at, 1, frames[i].function.substr(0, frames[i].function.find('(')));
      return {row.kind, text};
    }
  return {};
}

}  // namespace tprof
