// The GPU side of the Model: calls into CUDA on the threads of the process, and the GPU activities that they launched.
//
// A call that both an interposed function and CUPTI have seen is one CallEvent. A GpuEvent keeps CUPTI's record
// unchanged (in the Model's arena) beside the results of the Model: its times, the call that launched it and the
// operator in which that call was made.
#pragma once
#include <map>

#include "record/record.h"

namespace tprof {

constexpr u32 kNone = 0xffffffff;

enum CallSeen : u8 { kSeenByUs = 1, kSeenByCupti = 2 };

// One call into CUDA. A field that only one of the two observers knows is 0 (device: -1) without that observer.
struct CallEvent {
  i64 begin_ns = 0;
  i64 dur_ns = 0;
  i64 at_ns = 0;  // its start by the clock of the ranges, if an interposed function saw it; else begin_ns
  u64 address = 0, bytes = 0, stream = 0;  // from the interposed function; see CallRecord
  u32 name = 0;                            // index into Model::names
  u32 thread = 0;                          // index into Model::threads
  i32 op = -1;                             // the range in which it was made: index into Model::events
  u32 correlation = 0;                     // from CUPTI
  u32 cbid = 0;                            // from CUPTI, without kApiDriver
  i32 result = 0;
  u32 stack = 0;       // index into Model::stacks, 0 none
  u32 activities = 0;  // number of GpuEvents that it launched
  u8 family = u8(CallFamily::other);
  u8 call_flags = 0;  // CallFlag; kCallDriver may come from CUPTI, too
  i8 device = -1;
  u8 detail = 0;
  u8 seen = 0;              // CallSeen
  bool unfinished = false;  // its end was not seen; it is assumed to last until the end of the span

  i64 end_ns() const { return begin_ns + dur_ns; }
  bool is_driver() const { return call_flags & kCallDriver; }
};

// The analyses use the recorded data of kernels, copies and devices under these names.
using KernelInfo = KernelRecord;
using CopyInfo = CopyRecord;
using SetInfo = SetRecord;
using SyncInfo = SyncRecord;
using OverheadInfo = OverheadRecord;
using DeviceInfo = DeviceRecord;

struct GpuEvent {
  i64 begin_ns = 0;
  i64 dur_ns = 0;
  const RecordHead* record = nullptr;  // KernelRecord, CopyRecord ... by its kind
  u32 name = 0;                        // index into Model::names; kernels demangled, others named as by libkineto
  u32 call = kNone;                    // the call that launched it: index into Model::calls
  i32 op = -1;                         // index into Model::events
  u32 device = 0, stream = 0;          // kNone: none
  u32 context = 0, correlation = 0;
  u32 wait_stream = kNone, wait_correlation = 0;  // sync: the event record that it waits for
  // Kernels: blocks and warps of the whole grid per SM, and the estimated occupancy in percent of the threads of an SM.
  // Copies and sets: bandwidth in GB/s. Stated by the trace or computed by describe_gpu_work(). < 0: not known.
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

// How many of each were written in a span. COUNT(field)
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

// How many were repaired, left out as duplicates, or are doubtful. DOUBT(field, "what it counts")
#define TPROF_GPU_DOUBTS(DOUBT)                                                                       \
  DOUBT(inner_calls, "driver calls inside a runtime call, which represents them")                     \
  DOUBT(duplicates, "records that the chunks of two windows hold, left out once")                     \
  DOUBT(other_window, "records of GPU activities launched in another window")                         \
  DOUBT(moved_to_launch, "GPU activities with a start shortly before their launch: moved to it")      \
  DOUBT(before_launch, "GPU activities with a start long before their launch: left as they are")      \
  DOUBT(negative, "GPU activities with an end before their start: written with no duration")          \
  DOUBT(without_call, "GPU activities without a known call")                                          \
  DOUBT(unknown_releases, "releases of device memory of unknown size, whose allocation was not seen") \
  DOUBT(missed_releases, "allocations at an address whose release was not seen")

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
