// A thread for work that is not urgent: it runs when nothing else wants the processor (SCHED_IDLE). An ordinary user
// cannot raise the priority of a thread again, so urgent work must be done by another thread.
#pragma once
#include <sys/types.h>
#include <time.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace tprof {

class IdleThread {
 public:
  // Calls `turn` repeatedly, with a pause of `pause_ms` after each call.
  IdleThread(std::function<void()> turn, int pause_ms);
  ~IdleThread() { stop(); }
  IdleThread(const IdleThread&) = delete;

  // Returns when the current turn has ended. A turn that gets no processor time is given up (record/give_up.h).
  void stop();

 private:
  void work();

  std::function<void()> turn_;
  int pause_ms_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false, ended_ = false;
  std::atomic<bool> give_up_{false};
  pid_t tid_ = 0;
  clockid_t clock_ = 0;  // of the thread's processor time
  std::thread thread_;
};

}  // namespace tprof
