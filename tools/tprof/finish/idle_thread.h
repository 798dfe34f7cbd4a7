// A thread for what has time: it runs when nothing else wants the processor (SCHED_IDLE). An ordinary user cannot take that
// back from a thread, so what is urgent is another thread's work.
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
  // Calls `turn` again and again, `pause_ms` between.
  IdleThread(std::function<void()> turn, int pause_ms);
  ~IdleThread() { stop(); }
  IdleThread(const IdleThread&) = delete;

  // Returns when no turn is under way. One that others leave no time is given up (record/give_up.h).
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
  clockid_t clock_ = 0;  // of its time on the processor
  std::thread thread_;
};

}  // namespace tprof
