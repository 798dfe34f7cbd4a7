// The calling thread is not cancelled (pthread_cancel) while one of these exists: what ends in the middle of our work
// leaves a lock, a descriptor or a chunk behind. For all rare work that makes system calls; SpinGuard has one.
#pragma once
#include <pthread.h>

namespace tprof {

class Uncancelled {
 public:
  Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancelled() { pthread_setcancelstate(before_, nullptr); }
  Uncancelled(const Uncancelled&) = delete;

 private:
  int before_;
};

}  // namespace tprof
