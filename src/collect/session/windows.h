// The windows of this process's recording: opened, ended, sealed. Whether and when, the session decides.
//
// A window that has ended waits in a list until no thread can still write into its chunks and the collectors have
// delivered what belongs to it; then the helper thread seals it, which starts the finisher on it.
#pragma once
#include <atomic>

#include "record/record.h"

namespace tprof {

class Windows {
 public:
  // The window that is open, nullptr: none.
  WindowRecord* current() const { return current_; }
  i64 number() const { return number_; }  // of it, -1: none is open
  i64 next() const { return next_; }      // one past the last number that was given to a window
  bool is_active() const { return current_ && current_->begin_ticks != 0; }

  // Opens the window `number`. `warmup_ticks` 0: it does not warm up. False: there is no room in the recording.
  bool open(i64 number, u64 warmup_ticks);
  // Opens the next window, active from `now` on, in a process that follows another one's windows.
  bool mirror(u64 now);
  // It goes on under the next number, and so in another epoch.
  void renumber();
  // Its active part starts. `first_step` -1: not by steps.
  void activate(i64 first_step, u64 ticks);
  // It ends; one that has only warmed up is discarded.
  void end(i64 end_step, u64 ticks);
  // It is not wanted: the step that opened it was none, or has another number.
  void discard();

  // For the helper thread and the end of the process: seals what can be sealed. True: a window still has to wait.
  bool seal();

  // In a forked child: all of these are the parent's.
  void forget();

 private:
  void close(WindowRecord* window);

  static constexpr int kMaxClosing = 64;

  WindowRecord* current_ = nullptr;
  i64 number_ = -1;
  i64 next_ = 0;
  std::atomic<WindowRecord*> closing_[kMaxClosing] = {};
};

}  // namespace tprof
