// How rules find operators in a trace, and what these operators cost.
#pragma once
#include "analysis/advice/rule.h"

namespace tprof::rules {

// The operators that a filter keeps. An operator inside another one that was kept is not counted again.
struct Found {
  u64 count = 0;
  i64 ns = 0;  // what they cost
  std::vector<Evidence> evidence;
};
enum class Counted : u8 { operators, gpu_work };  // operators: their host time and their GPU work
template <class Keep>
Found find(const Facts& facts, Keep keep, Counted counted = Counted::operators) {
  Found out;
  Heaviest heaviest(Evidence::Kind::range);
  Cost cost(facts);
  std::vector<bool> inside(facts.model.events.size());
  for (u32 i = 0; i < facts.model.events.size(); i++) {
    const Event& e = facts.model.events[i];
    inside[i] = e.parent >= 0 && inside[e.parent];
    if (inside[i] || !facts.inside(e.begin_ns) || !keep(i)) continue;
    inside[i] = true;
    out.count++;
    if (counted == Counted::operators)
      cost.op(i);
    else
      cost.gpu_work_of(i);
    heaviest.add(facts.device_ns[i] ? facts.device_ns[i] : e.dur_ns, i);
  }
  out.ns = cost.ns();
  out.evidence = heaviest.take();
  return out;
}

// "12 products per step", "0.5 products per step"
std::string per_step(const Facts& facts, u64 count, const char* what);

// By event: its children, in order. Further lists, one per thread, hold the events without a parent. Python calls are
// left out: their children are listed as children of the next event above.
std::vector<std::vector<u32>> siblings_of(const Model& model);

bool is_below_operator(const Model& model, u32 event);

}  // namespace tprof::rules
