// Calls that launched GPU work, by CUPTI's correlation id: which of them still wait for their record, and when each was
// made. Only the latest are kept; callers must cope where an older one is gone. Not thread-safe: callers hold the log's
// lock.
#pragma once
#include "base/types.h"

namespace tprof {

class Launches {
 public:
  // A call was made. `expects`: a record of GPU activity must follow. It may come after the work() of the same id.
  void call(u32 correlation, u64 begin_ns, bool expects);
  // A record of GPU activity arrived. Returns when its call was made, 0 if that is not known.
  u64 work(u32 correlation);
  // A thread began or ended the capture of a stream. What is launched meanwhile goes into a graph, and no record
  // follows, also what other threads launch: autograd's own thread captures the backward pass. What is launched at that
  // time and not captured is not waited for either.
  void capture(u32 tid, u64 ns, bool begins);
  // Calls were not reported for a while, and perhaps the end of a capture was not.
  void end_captures(u64 ns);

  // Counts the calls in [begin, end) whose record has not arrived.
  u32 pending(u64 begin_ns, u64 end_ns) const;
  // Marks them as given up and returns how many they are.
  u32 give_up(u64 begin_ns, u64 end_ns);
  bool given_up(u32 correlation) const;

 private:
  static constexpr u32 kSlots = 1 << 16;
  static constexpr u32 kCaptures = 64;  // the latest
  struct Launch {
    u64 begin_ns;
    u32 correlation;
    bool expects, has_record, given_up;
  };
  struct Capture {
    u64 begin_ns, end_ns;  // `end` 0: it goes on
    u32 tid;
  };
  Launch& slot(u32 correlation);
  bool is_captured(u64 ns) const;
  void settle(const Capture& capture);
  // In [begin, end), expects a record and waits for it.
  bool waits(const Launch& launch, u64 begin_ns, u64 end_ns) const;

  Launch launches_[kSlots];
  Capture captures_[kCaptures];
  u32 capture_count_;
  u32 open_;  // launches that expect a record and have none yet, those that are captured, too
};

}  // namespace tprof
