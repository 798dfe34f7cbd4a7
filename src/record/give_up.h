// Cancels long work: reading recordings and writing traces check for it now and then. A cancelled trace leaves no file
// and can be written again.
#pragma once
#include <atomic>

namespace tprof {

// Thrown to end the work. It is no Error, since nothing is wrong.
struct GivenUp {};

// Set when the work of this thread is to be cancelled; nullptr: it never is.
inline thread_local const std::atomic<bool>* t_give_up = nullptr;

inline void may_give_up() {
  if (t_give_up && t_give_up->load(std::memory_order_relaxed)) throw GivenUp{};
}

}  // namespace tprof
