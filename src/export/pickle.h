// Writes a pickle of Python, protocol 4: what is needed of it, in the opcodes that other readers of it know, too
// (https://docs.python.org/3/library/pickletools.html).
//
//   Pickle pickle(out);
//   pickle.dict(1, [&](u64) {
//     pickle.text("numbers");
//     pickle.list(n, [&](u64 i) { pickle.number(numbers[i]); });
//   });
//   pickle.end();
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>

#include "kineto/write/output.h"

namespace tprof {

class Pickle {
 public:
  explicit Pickle(kineto::OutputFile& out) : out_(out) { out_.put("\x80\x04"); }

  void number(i64 value);
  void number(u64 value);
  void text(std::string_view text);  // bytes that are not UTF-8 become U+FFFD

  // `item(i)` writes one value for each i below n; of a dict a text and a value.
  template <class Item>
  void list(u64 n, Item item) {
    sequence(']', 'e', n, item);
  }
  template <class Item>
  void dict(u64 n, Item item) {
    sequence('}', 'u', n, item);
  }

  // Remembers the value that was written last; again() stands for the same object.
  u32 remember();
  void again(u32 value);

  // After the one value of the file.
  void end() { out_.put('.'); }

 private:
  // In batches, as Python does: readers put a batch on a stack.
  static constexpr u64 kBatch = 1000;

  template <class Item>
  void sequence(char empty, char append, u64 n, Item item) {
    out_.put(empty);
    for (u64 begin = 0; begin < n; begin += kBatch) {
      out_.put('(');
      for (u64 i = begin; i < n && i < begin + kBatch; i++) item(i);
      out_.put(append);
    }
  }
  void bytes(u64 value, size_t n);

  kineto::OutputFile& out_;
  std::unordered_map<std::string, u32> texts_;  // by what remember() returned
  u32 remembered_ = 0;
};

}  // namespace tprof
