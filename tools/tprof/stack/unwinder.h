// The program tprof-stack (tools/stack), which unwinds native stacks with libunwind: one process or core file each.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"

namespace tprof {

struct NativeStack {
  enum class End { whole, cut, lost, not_read };  // lost: no unwind information for the last frame
  End end = End::not_read;
  std::string why;      // why it is not read
  std::string in_call;  // the system call in which the thread was blocked: it was not stopped. Empty: it was
  // Innermost frame first; each lies behind an instruction of its function, as return addresses do.
  std::vector<u64> addresses;
};

class Unwinder {
 public:
  // `subject`: the arguments of tprof-stack, see tools/stack/tprof_stack.cpp. Throws Error(Fault::unreadable) if the
  // program is missing.
  explicit Unwinder(const std::vector<std::string>& subject);
  ~Unwinder();
  Unwinder(const Unwinder&) = delete;

  // Reads the stack of a thread, and stops it for that unless it is blocked in a call that a stop might break. What is
  // read of it until release() is of the same moment.
  NativeStack stack_of(int tid);
  // Lets the thread run on, and returns for how many nanoseconds it was stopped. Nothing: it was not, and has run
  // meanwhile.
  std::optional<u64> release();
  // Processor time of the program so far.
  u64 cpu_ns() const;

 private:
  std::string line();
  void wait_for_answer();
  void send(const std::string& text);

  int in_ = -1, out_ = -1, pid_ = -1;
  bool held_ = false;  // release() is due
  std::string pending_;
};

// The path of tprof-stack; empty: this tprof was built without it (meson -Dstack=disabled, or no libunwind).
std::string find_unwinder();

}  // namespace tprof
