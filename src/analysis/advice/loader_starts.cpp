#include "analysis/advice/loader_starts.h"

#include <utility>

#include "analysis/basis/innermost.h"

namespace tprof::rules {
namespace {

constexpr i64 kForkNs = 1'000'000;  // starting a process takes longer than this

}  // namespace

std::vector<LoaderStart> loader_starts(const Facts& facts) {
  const Model& model = facts.model;
  struct Draw {
    u32 event;
    u64 seeds = 0, orders = 0;  // random numbers drawn since the previous draw
    bool computes = false;      // gradients were computed since then
  };
  std::vector<Draw> draws;
  Draw next;
  std::vector<i64> lengths;
  i64 until = INT64_MIN;  // the end of the previous draw: operators before it belong to the loader
  for (u32 i = 0; i < model.events.size(); i++) {
    const Event& e = model.events[i];
    if (e.begin_ns < until) continue;
    next.seeds += facts.classes.is(e, NameClass::draws_seed);
    next.orders +=
        facts.classes.is(e, NameClass::draws_order) && (e.parent < 0 || !is_operator(model.events[e.parent]));
    next.computes |= static_cast<Scope>(e.scope) == Scope::backward;
    if (!facts.classes.is(e, NameClass::data_loading) || facts.classes.is(e, NameClass::single_process_loader))
      continue;
    next.event = i;
    draws.push_back(std::exchange(next, {}));
    lengths.push_back(e.dur_ns);
    until = e.end_ns();
  }
  i64 usual = median_of(lengths);
  std::vector<LoaderStart> out;
  for (size_t k = 0; k < draws.size(); k++) {
    const Event& e = model.events[draws[k].event];
    i64 before = k ? model.events[draws[k - 1].event].end_ns() : e.begin_ns;
    bool starts = draws[k].seeds > draws[k].orders && !draws[k].computes && e.begin_ns - before > kForkNs;
    if (e.dur_ns > usual && (starts || !k)) out.push_back({before, e.end_ns(), draws[k].event, usual, k == 0});
  }
  return out;
}

std::vector<bool> steps_with_loader_start(const Facts& facts) {
  std::vector<bool> out(facts.windows.steps.size());
  for (const LoaderStart& start : loader_starts(facts))
    for (size_t s = 0; s < out.size(); s++)
      if (facts.windows.steps[s].begin < start.end_ns && start.begin_ns <= facts.windows.steps[s].end) out[s] = true;
  return out;
}

}  // namespace tprof::rules
