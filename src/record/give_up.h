// Cancels long work: reading recordings and writing traces check for it now and then. A cancelled trace leaves no file
// and can be written again.
#pragma once
#include <atomic>
#include <utility>

namespace tprof {

// Thrown to end the work. It is no Error, since nothing is wrong.
struct GivenUp {};

// Set when the work of this thread is to be cancelled; nullptr: it never is.
inline thread_local const std::atomic<bool>* t_give_up = nullptr;

inline void may_give_up() {
  if (t_give_up && t_give_up->load(std::memory_order_relaxed)) throw GivenUp{};
}

// While it lives, the work of this thread is not cancelled: nobody would do this part of it again.
class MustComplete {
 public:
  MustComplete() : was_(std::exchange(t_give_up, nullptr)) {}
  ~MustComplete() { t_give_up = was_; }
  MustComplete(const MustComplete&) = delete;

 private:
  const std::atomic<bool>* was_;
};

}  // namespace tprof
