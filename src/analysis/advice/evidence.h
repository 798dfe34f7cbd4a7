// Which events of a trace show what a rule found.
#pragma once
#include <utility>

#include "analysis/advice/advice.h"

namespace tprof::rules {

constexpr size_t kMaxEvidence = 5;

// Collects the events that weigh most.
class Heaviest {
 public:
  explicit Heaviest(Evidence::Kind kind) : kind_(kind) {}
  void add(i64 weight, u32 index) { all_.push_back({weight, index}); }
  std::vector<Evidence> take();

 private:
  Evidence::Kind kind_;
  std::vector<std::pair<i64, u32>> all_;
};

enum class Where : u8 { windows, trace };
std::vector<Evidence> longest_ranges(const Facts& facts, Where where, NameClass name_class);

// GPU activities in the windows that `keep` selects.
template <class Keep>
std::vector<Evidence> longest_gpu_work(const Facts& facts, Keep keep) {
  Heaviest heaviest(Evidence::Kind::gpu_work);
  for (u32 i = 0; i < facts.model.gpu.size(); i++) {
    const GpuEvent& work = facts.model.gpu[i];
    if (work.runs_on_gpu() && facts.inside(work.begin_ns) && keep(work)) heaviest.add(work.dur_ns, i);
  }
  return heaviest.take();
}

}  // namespace tprof::rules
