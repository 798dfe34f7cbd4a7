// Call frame information (.eh_frame) as a mapped file may hold it: nothing outside of it, and of the stack, is read.
//
// The input: where its search table lies, a program counter, then the bytes.
#include <string.h>

#include <vector>

#include "collect/native/frame_rule.h"
#include "collect/native/registers.h"

using namespace tprof;

namespace {

constexpr size_t kStackWords = 64;

void look(const EhFrame& eh, u64 pc) {
  frame_rule(eh, pc);
  FrameRow row;
  if (find_row(eh, pc, row) != Found::row) return;
  std::vector<u64> stack(kStackWords);
  StackMemory memory{{u64(stack.data()), u64(stack.data() + kStackWords)}};
  Registers from, to;
  for (u32 i = 0; i < FrameRow::kRegisters; i++) from.set(i, u64(stack.data()) + 8 * (kStackWords / 2));
  for (u64& word : stack) word = u64(&word);
  apply_row(eh, row, from, memory, to);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  constexpr size_t kHead = 8;
  if (size < kHead) return 0;
  u32 header, offset;
  memcpy(&header, data, 4);
  memcpy(&offset, data + 4, 4);
  std::vector<u8> bytes(data + kHead, data + size);  // its end is the end of an allocation
  if (header > bytes.size()) return 0;
  EhFrame eh{bytes.data() + header, bytes.data(), bytes.data() + bytes.size()};
  for (u32 i = 0; i < 8; i++) look(eh, u64(bytes.data()) + u64(i64(i32(offset))) + i * 16);
  return 0;
}
