// The GPU side of the Model: calls into CUDA on the threads of the process, and what the GPUs did because of them.
//
// A call seen both by an interposed function and by CUPTI is one CallEvent. A GpuEvent keeps CUPTI's record as it is
// (in the Model's arena) beside what the Model found out: its times, the call that launched it and the operator in
// which that call was made.
#pragma once
#include <map>

#include "record/record.h"

namespace tprof {

constexpr u32 kNone = 0xffffffff;

enum CallSeen : u8 { kSeenByUs = 1, kSeenByCupti = 2 };

// One call into CUDA. What only one of the two observers knows is 0 (device -1) without it.
struct CallEvent {
  i64 begin_ns = 0;
  i64 dur_ns = 0;
  i64 at_ns = 0;  // when it began by the clock of the thread's ranges, if we saw it; else begin_ns
  u64 address = 0, bytes = 0, stream = 0;  // ours; see CallRecord
  u32 name = 0;         // index into Model::names
  u32 thread = 0;       // index into Model::threads
  i32 op = -1;          // the range in which it was made: index into Model::events
  u32 correlation = 0;  // CUPTI's
  u32 cbid = 0;         // CUPTI's, without kApiDriver
  i32 result = 0;
  u32 stack = 0;        // ours
  u32 works = 0;        // GpuEvents that it launched
  u8 family = static_cast<u8>(CallFamily::other);
  u8 call_flags = 0;    // CallFlag; kCallDriver also when CUPTI says so
  i8 device = -1;
  u8 detail = 0;
  u8 seen = 0;          // CallSeen

  i64 end_ns() const { return begin_ns + dur_ns; }
  bool is_driver() const { return call_flags & kCallDriver; }
};

struct GpuEvent {
  i64 begin_ns = 0;
  i64 dur_ns = 0;
  const RecordHead* record = nullptr;  // KernelRecord, CopyRecord ... by its kind
  u32 name = 0;    // kernels: index into Model::names, demangled
  u32 call = kNone;  // what launched it: index into Model::calls
  i32 op = -1;     // index into Model::events
  u32 device = 0, stream = 0;  // kNone: none
  u32 context = 0, correlation = 0;
  u32 wait_stream = kNone, wait_correlation = 0;  // sync: the event record that it waits for

  Kind kind() const { return static_cast<Kind>(record->kind); }
  bool runs_on_gpu() const {
    return kind() == Kind::kernel || kind() == Kind::copy || kind() == Kind::set || kind() == Kind::graph;
  }
  i64 end_ns() const { return begin_ns + dur_ns; }
  template <class T>
  const T& as() const {
    return *reinterpret_cast<const T*>(record);
  }
};

// How the GPU part of a span came about; every count is of this span.
struct GpuLedger {
  u64 kernels = 0, copies = 0, sets = 0, syncs = 0, graphs = 0, events = 0, overheads = 0;  // written
  u64 calls_by_both = 0, calls_by_cupti = 0, calls_by_us = 0;  // written calls, by who saw them
  u64 inner_calls = 0;       // driver calls inside a runtime call, which stands for them
  u64 moved_to_launch = 0;   // began a little before their launch by CUPTI's clock: moved to it
  u64 before_launch = 0;     // began long before it; left as they are
  u64 negative = 0;          // ended before they began: written with no duration
  u64 without_call = 0;      // no call with their correlation is known
  u64 duplicates = 0;        // records that lie in the chunks of two windows, met again
  u64 other_window = 0;      // records of work launched in another window
  u64 unknown_releases = 0;  // memory released whose allocation was not seen and whose size is unknown
  bool any() const {
    return kernels || copies || sets || syncs || graphs || events || overheads || calls_by_both || calls_by_cupti ||
           calls_by_us;
  }
};

}  // namespace tprof
