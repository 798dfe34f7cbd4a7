// Which calls into CUDA, HIP or SYCL waited for a GPU, and for what.
//
// Times tell it, for every vendor alike: what ended inside of a call and held it up. By name a call waits only where
// it has no work of its own in the trace and exists to wait.
//
//   work of its own    A copy whose stream was busy when it was called, and became free before it returned, waited
//                      until then if its own work had begun by its return: copies of pageable memory, cudaMemcpy,
//                      hipMemcpyWithStream. Its own work may be done by then as well. Its stream may also have waited
//                      for another one, whose work ended as one work follows another (kKernelWaitNs).
//                      A launch waited if its kernel was done before it returned and took at least half of its time
//                      (CUDA_LAUNCH_BLOCKING); a kernel of a few us may end inside of its launch by chance.
//   none               A call that waits by its name (cudaStreamSynchronize, urQueueFinish) waited all its time. Any
//                      other (cudaFree) waited if all that GPUs had been given before it was done in it, and not before
//                      three quarters of its time were over.
#pragma once
#include <unordered_map>

#include "analysis/basis/words.h"

namespace tprof {

// Between works of one stream that were launched 20 us ahead, in 69 public traces of V100, 2080 Ti, A100, H100, H800,
// B200, MI210 and MI300: the median gap is at most 4 us (0 on AMD, 0.75 to 2.2 us on the only stream of NVIDIA's), and
// in 66 of them nine in ten are below 10 us. HTA's critical path expects as much; its idle times' 30 ns find none.
constexpr i64 kKernelWaitNs = 10'000;

// Calls that do not wait return within this time: what ends inside of them does so by chance.
constexpr i64 kShortestWaitNs = 10'000;

struct Wait {
  i64 begin_ns, end_ns;  // it waited; empty: for nothing but its own work
  u32 work = kNone;      // what ended last of what it waited for: index into Model::gpu, kNone not known
  u32 own = kNone;       // the last work of its own, if that was done before it returned

  i64 length() const { return end_ns - begin_ns; }
};

class Waits {
 public:
  Waits(const Model& model, const Words& words);

  // nullptr: the call did not wait, or nothing tells that it did.
  const Wait* of(u32 call) const;
  // How long it waited for a GPU.
  i64 ns(u32 call) const;

 private:
  std::unordered_map<u32, Wait> waits_;  // by index into Model::calls
};

}  // namespace tprof
