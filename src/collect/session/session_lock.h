// The session's lock. What must not happen under it, because it may wait, is done by whoever gives it up.
#pragma once
#include "record/writer.h"

namespace tprof {

class SessionLock : public SpinLock {
 public:
  // Holding it: `call` is to be called once it is given up. nullptr: nothing.
  void afterwards(void (*call)()) { call_ = call; }
  void unlock() {
    void (*call)() = call_;
    call_ = nullptr;
    SpinLock::unlock();
    if (__builtin_expect(call != nullptr, 0)) call();
  }

 private:
  void (*call_)() = nullptr;
};

}  // namespace tprof
