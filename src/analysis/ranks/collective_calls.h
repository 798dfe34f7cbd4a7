// The collectives of one process, as its trace has them.
#pragma once
#include <string>

#include "analysis/basis/name_classes.h"
#include "analysis/basis/windows.h"

namespace tprof {

struct CollectiveCall {
  std::string op;           // the name in the trace: "allreduce", "nccl:all_reduce" ...
  std::string group;        // empty: not known
  i64 sequence = -1;        // in its group; -1 not known
  i64 bytes = -1;           // of the larger of input and output; -1 not known
  i32 ranks = -1;           // in its group; -1 not known
  std::string group_ranks;  // "[0, 2]", numbers of the whole job; empty: not known
  i32 peer = -1;            // the other rank of a send or recv, or the root; -1 not known
  i32 group_rank = -1;      // of this process in the group; -1 not known
  i8 async = -1;            // 1: the program went on while it ran; -1 not known
  bool call_only = false;   // of NCCL, without its kernel: the times are those of the call that enqueued it
  bool is_cut = false;      // its end is that of the recording
  i64 begin_ns = 0;         // CLOCK_REALTIME, also `call_ns`; here from the request to the completion
  i64 dur_ns = 0;
  i64 call_ns = 0;      // when the program called it; 0 not known
  i64 call_dur_ns = 0;  // how long the program was in that call
  u32 work = kNone;     // its kernel: index into Model::gpu

  // Whether data-parallel training exchanges gradients or sharded parameters this way (all-reduce, reduce-scatter,
  // all-gather). All-to-all (tokens, lookups) and transfers between pairs are something else.
  bool exchanges_gradients() const;

  // Whether its end is the moment at which the ranks leave it.
  bool ends_with_others() const { return !call_only && !is_cut; }

  Interval time() const { return {begin_ns, begin_ns + dur_ns}; }
};

struct CollectiveCalls {
  std::vector<CollectiveCall> calls;  // in order of begin
  bool on_gpu = false;                // kernels of GPUs; else the ranges of operators on the CPU (gloo)
};
// The calls in the windows.
CollectiveCalls collective_calls(const Model& model, const NameClasses& classes, const Windows& windows);

}  // namespace tprof
