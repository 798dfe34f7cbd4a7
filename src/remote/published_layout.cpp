// The table of offsets for debuggers that Python publishes at the start of _PyRuntime from 3.13 on: 64-bit words, whose
// number and order are those of one minor version (Include/internal/pycore_debug_offsets.h).
#include <cstring>

#include "remote/python_layout.h"

namespace tprof::remote {
namespace {

constexpr u16 k313 = 3 << 8 | 13, k314 = 3 << 8 | 14;

// Indices of words, by version.
struct Words {
  u32 interpreters, next_interpreter, threads, gil_locked, gil_holder;
  u32 next_thread, first, thread_id, native_id;
  u32 previous, code, at;
  u32 file, name, table, first_line, instructions;
};
constexpr Words kWords313 = {5, 8, 9, 17, 18, 21, 23, 24, 25, 29, 30, 31, 35, 36, 38, 39, 43};
constexpr Words kWords314 = {5, 8, 9, 18, 19, 24, 26, 27, 28, 32, 33, 34, 40, 41, 43, 44, 48};
constexpr u32 kCount = 64;
constexpr u32 kVersion = 1, kFreeThreaded = 2;
// An offset beyond these is damage. As much is read of each thread state, frame and code object.
constexpr u64 kMaxInterpreterBytes = 1 << 20, kMaxBytes = 512;

}  // namespace

std::string published_layout(const Memory& memory, PythonLayout& layout) {
  u64 words[kCount];
  if (!memory.read(layout.runtime, words, sizeof words) || memcmp(words, "xdebugpy", 8) != 0)
    return "it does not publish its layout";
  layout.python = u16(words[kVersion] >> 16);
  if (words[kFreeThreaded]) return "it is a free-threaded Python";
  if (layout.python != k313 && layout.python != k314)
    return "Python " + std::to_string(layout.python >> 8) + "." + std::to_string(layout.python & 255) +
           " is newer than this tprof";
  const Words& w = layout.python == k313 ? kWords313 : kWords314;
  auto below = [&](u64 most, u32 word) { return words[word] < most ? i32(words[word]) : -1; };
  auto of_interpreter = [&](u32 word) { return below(kMaxInterpreterBytes, word); };
  auto offset = [&](u32 word) { return below(kMaxBytes, word); };
  layout.interpreters = of_interpreter(w.interpreters);
  layout.next_interpreter = of_interpreter(w.next_interpreter);
  layout.threads = of_interpreter(w.threads);
  layout.gil_locked = of_interpreter(w.gil_locked);
  layout.gil_holder = of_interpreter(w.gil_holder);
  layout.next_thread = offset(w.next_thread);
  layout.first = offset(w.first);
  layout.thread_id = offset(w.thread_id);
  layout.native_id = offset(w.native_id);
  layout.previous = offset(w.previous);
  layout.code = offset(w.code);
  layout.at = offset(w.at);
  layout.file = offset(w.file);
  layout.name = offset(w.name);
  layout.table = offset(w.table);
  layout.first_line = offset(w.first_line);
  layout.instructions = offset(w.instructions);
  for (i32 needed :
       {layout.interpreters, layout.next_interpreter, layout.threads, layout.next_thread, layout.first, layout.previous,
        layout.code, layout.at, layout.name, layout.file, layout.table, layout.first_line, layout.instructions})
    if (needed < 0) return "the layout that it publishes is damaged";
  return "";
}

}  // namespace tprof::remote
