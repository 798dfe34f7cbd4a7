// The kernel's ids of a program's threads where only their pthread_t is known: before 3.11 the interpreter keeps no
// other. glibc keeps the id in the thread's descriptor, at which its pthread_t points.
#pragma once
#include <functional>
#include <vector>

#include "remote/memory.h"

namespace tprof::remote {

class ThreadIds {
 public:
  explicit ThreadIds(const Memory& memory) : memory_(memory) {}

  // `tids`: those of all threads, ascending. 0: it cannot be told.
  int of(u64 pthread, const std::vector<int>& tids);

 private:
  u64 offset_in(u64 pthread, const std::function<bool(int)>& is_thread) const;

  const Memory& memory_;
  u64 offset_ = 0;     // in the descriptor, once it was found
  size_t failed_ = 0;  // searches for it
};

}  // namespace tprof::remote
