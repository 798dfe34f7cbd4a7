// Merges the calls into CUDA that interposed functions have seen with those that CUPTI has seen.
//
// CUPTI knows the correlation with GPU activities and sees calls that do not come through the dynamic linker;
// interposed functions know bytes, streams, stacks and the exact position among the ranges of the thread. Apart from
// the difference of the clocks, a CUPTI record lies inside the interposed call of the same name on the same thread. A
// driver call that the runtime makes inside of its own call has the correlation of that call and is left out.
#pragma once
#include "model/trace.h"

namespace tprof {

class CallMerger {
 public:
  explicit CallMerger(Model& model) : model_(model) {}

  void add_ours(const CallEvent& call) { ours_.push_back(call); }
  void add_cupti(const CallEvent& call, u32 epoch) { cupti_.push_back({call, epoch}); }

  // All calls, in order of time. Calls that are left out are counted in the Model's ledger.
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

// The name of a function without the suffixes that CUPTI and the headers add: cudaMalloc_v3020, cudaMemcpyAsync_ptsz,
// cuMemAlloc_v2.
std::string plain_function(const std::string& name);

// The name that torch.profiler shows for a function: without CUPTI's version number.
std::string shown_function(const std::string& name);

}  // namespace tprof
