// What something costs the steps of a trace.
#pragma once
#include "analysis/advice/facts.h"

namespace tprof::rules {

// Sums up the host time during which no GPU computes and the GPU work that steps waited for (their critical path). What
// runs hidden by other work costs nothing, and nothing counts twice, so no saving is larger than what is idle or
// wasted.
class Cost {
 public:
  explicit Cost(const Facts& facts);  // which must outlive this
  void time(i64 begin, i64 end) { time_.push_back({begin, end}); }
  void call(u32 index);  // without the time during which it waits for a GPU
  void gpu_work(u32 index) { gpu_work_[index] = true; }
  void gpu_work_of(u32 event) { ops_[event] = true; }  // launched in it or below it
  void op(u32 event) {
    time(facts_.model.events[event].begin_ns, facts_.model.events[event].end_ns());
    gpu_work_of(event);
  }
  i64 ns() const;  // over all steps

 private:
  bool counts(const GpuEvent& work) const;

  const Facts& facts_;
  std::vector<Interval> time_;
  std::vector<bool> gpu_work_, ops_;  // by Model::gpu, by Model::events
};

}  // namespace tprof::rules
