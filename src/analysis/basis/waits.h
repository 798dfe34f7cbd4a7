// Which calls into CUDA, HIP or SYCL waited for a GPU, and for what.
//
// Decided by times, in the same way for every vendor: a call waited for GPU work that ended during the call. The name
// decides only for calls that exist to wait and launched no GPU activity of their own in the trace.
//
//   calls with an activity   A copy call waited if its stream was busy when it was called and became free before it
//                            returned, and its own activity had started by then: copies of pageable memory, cudaMemcpy,
//                            hipMemcpyWithStream. Its own activity may also have ended by then. The stream may have
//                            waited for another one, whose activity ended less than kKernelWaitNs before.
//                            A launch waited if its kernel ended before it returned and took at least half of its time
//                            (CUDA_LAUNCH_BLOCKING); a kernel of a few us may end during its launch by chance.
//   calls without one        A call that waits by its name (cudaStreamSynchronize, urQueueFinish) waited all its time.
//                            Any other (cudaFree) waited if all GPU work launched before it ended during the call, and
//                            not before three quarters of its time had passed.
#pragma once
#include <unordered_map>

#include "analysis/basis/name_classes.h"

namespace tprof {

// The largest gap between activities of one stream that follow each other directly. Measured between activities
// launched 20 us ahead, in 69 public traces of V100, 2080 Ti, A100, H100, H800, B200, MI210 and MI300: the median gap
// is at most 4 us (0 on AMD, 0.75 to 2.2 us on NVIDIA with a single stream), and in 66 of the traces nine in ten gaps
// are below 10 us. HTA's critical path uses the same limit; the 30 ns of its idle times match no gap.
constexpr i64 kKernelWaitNs = 10'000;

// Calls that do not wait return within this time; GPU work that ends during them does so by chance.
constexpr i64 kMinWaitNs = 10'000;

struct Wait {
  i64 begin_ns, end_ns;  // the time of the wait; empty if it waited only for its own activity
  u32 work = kNone;      // the last activity that it waited for: index into Model::gpu; kNone: not known
  u32 own = kNone;       // its own last activity, if that ended before the call returned

  i64 length() const { return end_ns - begin_ns; }
};

class Waits {
 public:
  Waits(const Model& model, const NameClasses& classes);

  // nullptr: the call did not wait, or the trace does not show it.
  const Wait* of(u32 call) const;
  // How long it waited for a GPU.
  i64 ns(u32 call) const;

 private:
  std::unordered_map<u32, Wait> waits_;  // by index into Model::calls
};

}  // namespace tprof
