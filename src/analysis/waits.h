// Which calls into CUDA, HIP or SYCL waited for a GPU, and for what.
//
// Times tell it, for every vendor alike: what ended inside of a call and held it up. By name a call waits only where
// it has no work of its own in the trace and exists to wait.
//
//   work of its own    A copy whose stream was busy when it was called, and became free before it returned, waited
//                      until then if its own work had begun by its return: copies of pageable memory, cudaMemcpy,
//                      hipMemcpyWithStream. Its own work may be done by then as well.
//                      A launch waited if its kernel was done before it returned and took at least half of its time
//                      (CUDA_LAUNCH_BLOCKING); a kernel of a few us may end inside of its launch by chance.
//   none               A call that waits by its name (cudaStreamSynchronize, urQueueFinish) waited all its time. Any
//                      other (cudaFree) waited if all that GPUs had been given before it was done in it, and not before
//                      three quarters of its time were over.
#pragma once
#include <unordered_map>

#include "analysis/words.h"

namespace tprof {

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
