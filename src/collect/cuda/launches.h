// Calls that launched GPU work, by CUPTI's correlation id: which of them still wait for their record, and when each was
// made. Only the latest are kept; callers must cope where an older one is gone. Not thread-safe: callers hold the log's
// lock.
#pragma once
#include "base/types.h"

namespace tprof {

class Launches {
 public:
  // A call was made. `expects`: a record of GPU activity must follow. It may come after the work() of the same id.
  void call(u32 correlation, u32 tid, u64 begin_ns, bool expects);
  // A record of GPU activity arrived. Returns when its call was made, 0 if that is not known.
  u64 work(u32 correlation);
  // What a thread launches while it captures a stream goes into a graph, and no record follows.
  void capture(u32 tid, bool begins);

  // Counts the calls in [begin, end) whose record has not arrived.
  u32 pending(u64 begin_ns, u64 end_ns) const;
  // Marks them as given up and returns how many they are.
  u32 give_up(u64 begin_ns, u64 end_ns);
  bool given_up(u32 correlation) const;

 private:
  static constexpr u32 kSlots = 1 << 16;
  static constexpr u32 kCapturing = 16;
  struct Launch {
    u64 begin_ns;
    u32 correlation;
    bool expects, has_record, given_up;
  };
  Launch& slot(u32 correlation);

  Launch launches_[kSlots];
  u32 capturing_[kCapturing];  // thread ids, 0: free
  u32 open_;                   // launches that expect a record and have none yet
};

}  // namespace tprof
