// How work gets to the GPU: how long it waits there, whether it is worth its launch, how full the queues are.
//
// A work's launch is the call with its correlation. Delay = begin of the work - end of the call, at least 0. Short: the
// work takes less time than its launch call, or less than kShortWorkNs. Time in which a call waited for the GPU
// (waits.h) is none of its own. A graph's works have one call: they are held against it together.
#pragma once
#include "analysis/basis/waits.h"
#include "analysis/basis/windows.h"

namespace tprof {

constexpr i64 kShortWorkNs = 10'000;   // TraceLens
constexpr i64 kSlowLaunchNs = 50'000;  // HTA: a call that takes longer is an outlier
constexpr i64 kLongDelayNs = 100'000;  // HTA: work that begins later than this is an outlier
constexpr u32 kQueueLimit = 1024;      // works a stream takes before its launches block

struct QueuePoint {
  i64 ns;
  u32 length;  // works launched and not begun, from this moment on
};

struct Queue {
  u32 device, stream;
  u32 longest = 0;
  double mean = 0;        // over the window
  i64 full_ns = 0;        // with at least kQueueLimit works
  u32 blocked_calls = 0;  // launches into a full queue
  i64 blocked_ns = 0;     // and how long these took
  std::vector<QueuePoint> points;
};

struct Launches {
  u64 works = 0;                // kernels, copies and sets whose launch is known; begun in the window
  u64 without_call = 0;         // whose is not
  i64 host_ns = 0, gpu_ns = 0;  // of the calls, of the works
  i64 wait_ns = 0;              // of host_ns, waiting for the GPU
  i64 delay_ns = 0, longest_delay_ns = 0;
  u64 shorter_than_launch = 0, short_works = 0;
  i64 short_gpu_ns = 0, short_host_ns = 0, short_wait_ns = 0;  // of works shorter than kShortWorkNs
  u64 slow_calls = 0, long_delays = 0;                         // by their own time
  std::vector<u32> slowest_calls;  // indices into Model::calls, at most 10, longest own time first
  std::vector<u32> most_delayed;   // indices into Model::gpu, likewise
  std::vector<Queue> queues;       // by device and stream
};
Launches launches(const Model& model, const Windows& windows, const Waits& waits);

}  // namespace tprof
