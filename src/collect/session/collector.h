// What the session tells those that record beside the framework: calls into CUDA, native stacks, NVTX, CUPTI.
//
// The session knows none of them. Each fills a Collector with the functions it needs, and collect/start/collectors.cpp,
// which stands above them all, lists them. A function that a collector does not need stays nullptr.
#pragma once
#include "base/options.h"
#include "record/record.h"

namespace tprof {

struct Collector {
  // The session is about to take up its first phase. `speaks`: this process may print lines.
  void (*session_starts)(const Options& options, bool speaks) = nullptr;
  // What is wanted in an active phase must be recorded when this returns, unless that takes longer than a second. Under
  // the session's lock: nothing here may wait without limit, or take the loader's lock.
  void (*phase_changed)(Phase phase) = nullptr;
  // A window was opened, goes on in another epoch (flight mode), has ended, takes no more records. All but the last
  // under the session's lock.
  void (*window_opened)(WindowRecord* window) = nullptr;
  void (*epoch_changed)(WindowRecord* window) = nullptr;
  void (*window_ended)() = nullptr;
  void (*window_closed)(WindowRecord* window) = nullptr;
  // Whether everything that belongs to a window that has ended was delivered; whether some window still waits for that.
  bool (*has_delivered)(const WindowRecord* window) = nullptr;
  bool (*awaits_delivery)() = nullptr;
  // The user asked for a flush: deliver what there is, within a moment.
  void (*flush)() = nullptr;
  // The process ends and the last window has ended: waits for its records. Then, with that window sealed, the end.
  void (*exiting)() = nullptr;
  void (*finish)() = nullptr;
  // In a forked child.
  void (*forget)() = nullptr;
};

// In the order in which they are called; nullptr ends the list.
extern const Collector* const kCollectors[];

// Calls `member` of each collector that has it.
template <class Member, class... Args>
void tell_collectors(Member Collector::*member, Args... args) {
  for (const Collector* const* collector = kCollectors; *collector; collector++)
    if ((*collector)->*member) ((*collector)->*member)(args...);
}

}  // namespace tprof
