// Work that may be given up in its middle: reading recordings and writing traces ask here now and then. Nothing stays
// behind of a trace that was given up, and it can be written anew.
#pragma once
#include <atomic>

namespace tprof {

// Thrown through the work. No Error: nothing is wrong.
struct GivenUp {};

// Of the work of one thread; nullptr: it is never given up.
inline thread_local const std::atomic<bool>* t_give_up = nullptr;

inline void may_give_up() {
  if (t_give_up && t_give_up->load(std::memory_order_relaxed)) throw GivenUp{};
}

}  // namespace tprof
