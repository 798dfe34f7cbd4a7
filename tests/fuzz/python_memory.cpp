// The memory of a program in which a Python is looked for: any address leads into the input, or nowhere. Every so many
// reads a word changes, as the memory of a program that runs on does.
#include <string.h>

#include <algorithm>

#include "remote/python_reader.h"
#include "remote/snapshots.h"
#include "scratch.h"
#include "symbols/line_table.h"

using namespace tprof;

namespace {

constexpr u64 kNowhere = u64(1) << 40;  // addresses with this bit are not mapped
constexpr size_t kLimit = 64;           // frames of a stack
constexpr size_t kThreads = 8;          // that are looked at

class Bytes : public remote::Memory {
 public:
  Bytes(const u8* data, size_t size, u8 changes) : bytes_(data, data + size), changes_(changes) {}

  bool read(u64 address, void* to, size_t bytes) const override {
    if (address & kNowhere || bytes > bytes_.size()) return false;
    if (changes_ && ++reads_ % changes_ == 0) bytes_[reads_ * 8 % bytes_.size()] += 8;
    u64 from = address % bytes_.size();
    size_t first = std::min<size_t>(bytes, bytes_.size() - from);
    memcpy(to, bytes_.data() + from, first);
    memcpy(static_cast<u8*>(to) + first, bytes_.data(), bytes - first);
    return true;
  }
  std::vector<int> threads() const override { return {1, 2, 3}; }

 private:
  mutable std::vector<u8> bytes_;
  mutable u64 reads_ = 0;
  u8 changes_;
};

void read_threads(const remote::Memory& memory, const remote::PythonLayout& layout) {
  remote::PythonReader reader(memory, layout);
  remote::ThreadIds ids(memory);
  std::vector<remote::PythonThread> threads = reader.threads();
  fuzz::require(threads.size() <= remote::kMaxThreads, "the list of threads ends");
  if (threads.size() > kThreads) threads.resize(kThreads);
  for (const remote::PythonThread& thread : threads) {
    ids.of(thread.pthread, memory.threads());
    remote::PythonStack stack = reader.stack_of(thread, kLimit);
    fuzz::require(stack.frames.size() <= kLimit, "a stack ends");
    for (const remote::PythonFrame& frame : stack.frames)
      if (const remote::PythonCode* code = reader.code_at(frame.code)) line_of(code->lines, u64(frame.offset));
  }
  reader.gil_holder();
}

void take_snapshots(const remote::Memory& memory, const remote::PythonLayout& layout) {
  remote::Snapshots snapshots(memory, layout, kLimit);
  std::vector<remote::ThreadSnapshot> out;
  for (int round = 0; round < 3; round++) {
    snapshots.take(out, [&](u64 native) { return native % 2 == 0; });
    for (const remote::ThreadSnapshot& thread : out)
      for (const remote::PythonFrame& frame : thread.frames)
        fuzz::require(frame.code >= 1 && frame.code <= snapshots.codes().count(), "a frame has a code object");
  }
}

}  // namespace

// The first bytes: which symbols the program's file defines, and how often its memory changes.
extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  constexpr size_t kHead = 2, kLeast = 64;
  if (size < kHead + kLeast) return 0;
  Bytes memory(data + kHead, size - kHead, data[1]);
  remote::PythonLayout layout;
  layout.code_type = 64;
  if (published_layout(memory, layout).empty()) {
    read_threads(memory, layout);
    take_snapshots(memory, layout);
  }
  remote::PythonSymbols symbols = remote::symbols_of_versions();
  u64 bit = 1;
  for (auto& [name, address] : symbols) address = data[0] & bit ? 128 : 0, bit *= 2;
  remote::PythonLayout known;
  known.code_type = 64;
  if (known_layout(memory, symbols, known).empty()) {
    read_threads(memory, known);
    take_snapshots(memory, known);
  }
  return 0;
}
