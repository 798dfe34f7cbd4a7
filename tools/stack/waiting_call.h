// A system call of the table waiting_calls.def in which a thread is blocked, seen from outside: the thread is not
// stopped, and does not notice.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>

#include "base/types.h"

namespace tprof {

struct WaitingCall {
  std::string name;
  u64 sp = 0, pc = 0;  // registers of the thread: with them its stack can be read as long as it stays there
  std::string seen;    // what the kernel shows of the call
  i64 times_run = -1;  // of the thread, see below

  bool operator==(const WaitingCall&) const = default;
};

// Nothing: it runs, or is blocked in a call that a stop does not break, or its registers may not be seen.
std::optional<WaitingCall> waiting_call_of(pid_t tid);

// Whether a call by this number is made again after a stop has interrupted it.
bool is_made_again(i64 number);

// How often the thread was given a processor: another number once a thread that was blocked has run. -1: the kernel
// does not count that.
i64 times_run(pid_t tid);

}  // namespace tprof
