// For the files that hold the rules of advice.def: their declarations and what several of them need.
#pragma once
#include <algorithm>

#include "analysis/advice/advice.h"
#include "analysis/basis/innermost.h"

namespace tprof::rules {

#define RULE(function, id, moderate, high, title, fix, link) std::optional<Match> function(const Facts& facts);
#include "analysis/advice/advice.def"
#undef RULE

std::string ms(double ns);          // "1.23 ms"
std::string percent(double share);  // "12.3 %"
std::string mib(double bytes);      // "1.5 GiB", "12.0 MiB"

// A DataLoader with processes starts them, or starts them anew for an epoch: from the end of its draw before to the end of
// the first one that they serve.
struct LoaderStart {
  i64 begin_ns, end_ns;
  u32 draw;      // index into Model::events
  i64 usual_ns;  // that draws take else
  bool first;    // of the trace: when the one before ended is not known
};
std::vector<LoaderStart> loader_starts(const Facts& facts);
// By step: whether one lies in it.
std::vector<bool> steps_with_loader_start(const Facts& facts);

constexpr size_t kMostEvidence = 5;
constexpr i64 kFirstLaunchNs = 1'000'000;  // a launch takes some us; longer ones load code, or wait for room

// Collects the events that weigh most.
class Heaviest {
 public:
  explicit Heaviest(Evidence::Of of) : of_(of) {}
  void add(i64 weight, u32 index) { all_.push_back({weight, index}); }
  std::vector<Evidence> take();

 private:
  Evidence::Of of_;
  std::vector<std::pair<i64, u32>> all_;
};

// What something takes from the steps: the time of the host in which no GPU computes, and the GPU work that the steps
// waited for (their critical path). What is hidden behind other work costs nothing, and nothing counts twice, so no
// saving is larger than what is idle or wasted.
class Cost {
 public:
  explicit Cost(const Facts& facts);  // which must outlive this
  void time(i64 begin, i64 end) { time_.push_back({begin, end}); }
  void call(u32 index);  // but for what it waits for
  void work(u32 index) { works_[index] = true; }
  void works_of(u32 event) { ops_[event] = true; }  // launched in it and below
  void op(u32 event) {
    time(facts_.model.events[event].begin_ns, facts_.model.events[event].end_ns());
    works_of(event);
  }
  i64 ns() const;  // over all steps

 private:
  bool counts(const GpuEvent& work) const;

  const Facts& facts_;
  std::vector<Interval> time_;
  std::vector<bool> works_, ops_;  // by Model::gpu, by Model::events
};

}  // namespace tprof::rules
