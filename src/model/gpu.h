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
  u32 name = 0;                            // index into Model::names
  u32 thread = 0;                          // index into Model::threads
  i32 op = -1;                             // the range in which it was made: index into Model::events
  u32 correlation = 0;                     // CUPTI's
  u32 cbid = 0;                            // CUPTI's, without kApiDriver
  i32 result = 0;
  u32 stack = 0;  // index into Model::stacks, 0 none
  u32 works = 0;  // GpuEvents that it launched
  u8 family = u8(CallFamily::other);
  u8 call_flags = 0;  // CallFlag; kCallDriver also when CUPTI says so
  i8 device = -1;
  u8 detail = 0;
  u8 seen = 0;              // CallSeen
  bool unfinished = false;  // its end was not seen in the span: it is taken to last until the span's

  i64 end_ns() const { return begin_ns + dur_ns; }
  bool is_driver() const { return call_flags & kCallDriver; }
};

// What is known of kernels, copies and devices is what was recorded of them; these are its names above the model.
using KernelFacts = KernelRecord;
using CopyFacts = CopyRecord;
using DeviceFacts = DeviceRecord;

struct GpuEvent {
  i64 begin_ns = 0;
  i64 dur_ns = 0;
  const RecordHead* record = nullptr;  // KernelRecord, CopyRecord ... by its kind
  u32 name = 0;                        // index into Model::names; kernels demangled, others as libkineto calls them
  u32 call = kNone;                    // what launched it: index into Model::calls
  i32 op = -1;                         // index into Model::events
  u32 device = 0, stream = 0;          // kNone: none
  u32 context = 0, correlation = 0;
  u32 wait_stream = kNone, wait_correlation = 0;  // sync: the event record that it waits for
  // Of kernels: blocks and warps of the whole grid per SM, and the estimated occupancy in percent of an SM's threads.
  // Of copies and sets: GB/s. As the trace states them, or computed by describe_gpu_work(). < 0: not known.
  float blocks_per_sm = -1, warps_per_sm = -1, occupancy = -1, bandwidth = -1;

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

// What of the GPU side was written in a span. COUNT(field)
#define TPROF_GPU_COUNTS(COUNT) \
  COUNT(kernels)                \
  COUNT(copies)                 \
  COUNT(sets)                   \
  COUNT(syncs)                  \
  COUNT(graphs)                 \
  COUNT(events)                 \
  COUNT(overheads)              \
  COUNT(calls_by_both)          \
  COUNT(calls_by_cupti)         \
  COUNT(calls_by_us)

// What was repaired, left out as a repetition, or is in doubt. DOUBT(field, "what it counts")
#define TPROF_GPU_DOUBTS(DOUBT)                                                                        \
  DOUBT(inner_calls, "driver calls inside a runtime call, which stands for them")                      \
  DOUBT(duplicates, "records that lie in the chunks of two windows, met again")                        \
  DOUBT(other_window, "records of work that was launched in another window")                           \
  DOUBT(moved_to_launch, "work that by its stamps began a little before its launch: moved to it")      \
  DOUBT(before_launch, "work that by its stamps began long before its launch: left as it is")          \
  DOUBT(negative, "work that by its stamps ended before it began: written with no duration")           \
  DOUBT(without_call, "work of which no call is known")                                                \
  DOUBT(unknown_releases, "device memory released that was not seen to be allocated, of unknown size") \
  DOUBT(missed_releases, "device memory allocated again that was not seen to be released")

struct GpuLedger {
#define COUNT(field) u64 field = 0;
  TPROF_GPU_COUNTS(COUNT)
#undef COUNT
#define DOUBT(field, what) u64 field = 0;
  TPROF_GPU_DOUBTS(DOUBT)
#undef DOUBT
  bool any() const {
    u64 sum = 0;
#define COUNT(field) sum += field;
    TPROF_GPU_COUNTS(COUNT)
#undef COUNT
#define DOUBT(field, what) sum += field;
    TPROF_GPU_DOUBTS(DOUBT)
#undef DOUBT
    return sum != 0;
  }
};

}  // namespace tprof
