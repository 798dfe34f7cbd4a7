#include "finish/idle_thread.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>

#include "base/clock.h"
#include "record/give_up.h"

namespace tprof {
namespace {

constexpr int kPatience_ms = 100;  // how long stop() waits before it looks again whether the last turn gets any time

// Whether the thread waits for a processor, and not for a disk or another process.
bool is_runnable(pid_t tid) {
  char path[64], state = 0;
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", static_cast<int>(tid));
  FILE* file = fopen(path, "re");
  if (!file) return false;
  bool read = fscanf(file, "%*d (%*[^)]) %c", &state) == 1;
  fclose(file);
  return read && state == 'R';
}

}  // namespace

IdleThread::IdleThread(std::function<void()> turn, int pause_ms)
    : turn_(std::move(turn)), pause_ms_(pause_ms), thread_([this] { work(); }) {}

void IdleThread::work() {
  sched_param p{};
  sched_setscheduler(0, SCHED_IDLE, &p);
  t_give_up = &give_up_;
  std::unique_lock lock(mutex_);
  tid_ = static_cast<pid_t>(syscall(SYS_gettid));
  pthread_getcpuclockid(pthread_self(), &clock_);
  while (!stop_) {
    lock.unlock();
    try {
      turn_();
    } catch (...) {  // given up or failed; the finisher repeats it at the end
    }
    lock.lock();
    changed_.wait_for(lock, std::chrono::milliseconds(pause_ms_), [this] { return stop_; });
  }
  ended_ = true;
  changed_.notify_all();
}

void IdleThread::stop() {
  if (!thread_.joinable()) return;
  std::unique_lock lock(mutex_);
  stop_ = true;
  changed_.notify_all();
  u64 worked = tid_ ? clock_ns(clock_) : 0;
  while (!changed_.wait_for(lock, std::chrono::milliseconds(kPatience_ms), [this] { return ended_; })) {
    u64 now = tid_ ? clock_ns(clock_) : 0;
    bool starved = now - worked < u64(kPatience_ms) * 1'000'000 / 2;
    if (starved && (!tid_ || is_runnable(tid_))) give_up_ = true;
    worked = now;
  }
  lock.unlock();
  thread_.join();
}

}  // namespace tprof
