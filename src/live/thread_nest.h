// The ranges of one thread, nested by time as they are read: how long each took, and how long without those inside of
// it. A range is told once nothing of it can follow any more.
#pragma once
#include <functional>
#include <vector>

#include "record/record.h"

namespace tprof::live {

// Ticks.
struct EndedRange {
  u32 name;
  u64 begin, end;  // without what tell_open() has told before
  u64 total, self;
  bool outermost;
};

class ThreadNest {
 public:
  using Tell = std::function<void(const EndedRange&)>;
  // Reads the end of a range anew: 0 if it still runs.
  using EndOf = std::function<u64(RecordRef)>;
  ThreadNest(Tell tell, EndOf end_of) : tell_(std::move(tell)), end_of_(std::move(end_of)) {}

  // A range that began, in the order of time. `read`: number of the piece of the file in which its record was found
  // (Recording::reads). `end`: 0 if it ran when the piece was read.
  void add(RecordRef ref, u32 name, u64 begin, u64 end, u32 epoch, u64 read);
  void end(RecordRef ref, u64 ticks);
  // A look is over, at whose start `epoch` was recorded. Of ranges whose end was known before, everything was read.
  void look_is_over(u32 epoch);
  bool empty() const { return open_.empty(); }
  // The outermost range if it still runs: its part since the last call, up to `now`.
  void tell_open(u64 now, const Tell& tell);

 private:
  struct Open {
    RecordRef ref;
    u64 begin, end;  // 0: it runs
    u64 children;    // ticks in ranges directly inside of it
    u64 told;        // up to here tell_open() has told it
    u64 asked;       // the piece after which its end was read last
    u32 name;
    bool old;  // its end was known before this look
  };
  void pop();
  void drop_all();

  Tell tell_;
  EndOf end_of_;
  std::vector<Open> open_;  // outermost first
  u32 epoch_ = 0xffffffff;
};

}  // namespace tprof::live
