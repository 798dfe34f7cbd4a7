// How work gets to the GPU: how long it waits there, whether it takes longer than its launch, how full the queues are.
//
// The launch of an activity (kernel, copy or set) is the call with its correlation id. Delay = start of the activity -
// end of the call, at least 0. Short: the activity takes less time than its launch call, or less than kShortWorkNs.
// Time in which a call waited for the GPU (waits.h) does not count for the call. All activities of a graph have the
// same call: the sum of their times is compared with it.
#pragma once
#include "analysis/basis/waits.h"
#include "analysis/basis/windows.h"

namespace tprof {

constexpr i64 kShortWorkNs = 10'000;   // TraceLens
constexpr i64 kSlowLaunchNs = 50'000;  // HTA: a call that takes longer is an outlier
constexpr i64 kLongDelayNs = 100'000;  // HTA: an activity that starts later than this is an outlier
constexpr u32 kQueueLimit = 1024;      // activities that a stream takes before its launches block

struct QueuePoint {
  i64 ns;
  u32 length;  // activities launched and not started, from this time on
};

struct Queue {
  u32 device, stream;
  u32 longest = 0;
  double mean = 0;        // over the window
  i64 full_ns = 0;        // with at least kQueueLimit activities
  u32 blocked_calls = 0;  // launches into a full queue
  i64 blocked_ns = 0;     // the time of these calls
  std::vector<QueuePoint> points;
};

struct Launches {
  u64 activities = 0;           // activities with a known launch that started in the windows
  u64 without_call = 0;         // activities without one
  i64 host_ns = 0, gpu_ns = 0;  // of the calls, of the activities
  i64 wait_ns = 0;              // the part of host_ns that is waiting for the GPU
  i64 delay_ns = 0, longest_delay_ns = 0;
  u64 shorter_than_launch = 0, short_activities = 0;
  i64 short_gpu_ns = 0, short_host_ns = 0, short_wait_ns = 0;  // of activities shorter than kShortWorkNs
  u64 slow_calls = 0, long_delays = 0;                         // calls: without their waiting
  std::vector<u32> slowest_calls;  // indices into Model::calls, at most 10, longest (without waiting) first
  std::vector<u32> most_delayed;   // indices into Model::gpu, at most 10, longest delay first
  std::vector<Queue> queues;       // by device and stream
};
Launches launches(const Model& model, const Windows& windows, const Waits& waits);

}  // namespace tprof
