// Calls into CUDA: what an interposed function saw and what CUPTI saw of it become one.
//
// CUPTI knows the correlation to the GPU's work and sees calls that do not come through the dynamic linker; our
// functions know bytes, streams, stacks and the exact place among the thread's ranges. One CUPTI record lies inside our
// call of the same name on the same thread, up to the clocks' difference. A driver call that the runtime made on its
// way has the runtime call's correlation and is left out.
#pragma once
#include "model/trace.h"

namespace tprof {

class CallMerger {
 public:
  explicit CallMerger(Model& model) : model_(model) {}

  void add_ours(const CallEvent& call) { ours_.push_back(call); }
  void add_cupti(const CallEvent& call, u32 epoch) { cupti_.push_back({call, epoch}); }

  // All calls, in order of time. Counts what it leaves out in the Model's ledger.
  std::vector<CallEvent> merge();

 private:
  struct FromCupti {
    CallEvent call;
    u32 epoch;
  };
  u32 plain_name(u32 name);
  void drop_duplicates();
  void drop_inner();
  void merge_thread(std::vector<CallEvent*>& ours, std::vector<FromCupti*>& cupti, std::vector<CallEvent>& out);

  Model& model_;
  std::vector<CallEvent> ours_;
  std::vector<FromCupti> cupti_;
  std::vector<u32> plain_;  // by name: 1 + index into plain_names_
  std::map<std::string, u32> plain_names_;
};

// A function's name without what CUPTI and the headers add: cudaMalloc_v3020, cudaMemcpyAsync_ptsz, cuMemAlloc_v2.
std::string plain_function(const std::string& name);

// The name by which torch.profiler shows a function: without CUPTI's version number.
std::string shown_function(const std::string& name);

}  // namespace tprof
