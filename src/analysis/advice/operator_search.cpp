#include "analysis/advice/operator_search.h"

namespace tprof::rules {
std::string per_step(const Facts& facts, u64 count, const char* what) {
  double each = double(count) / double(facts.windows.steps.size());
  return printed(each < 10 && each != double(u64(each)) ? "%.1f " : "%.0f ", each) + what + " per step";
}

std::vector<std::vector<u32>> siblings_of(const Model& model) {
  std::vector<std::vector<u32>> lists(model.events.size() + model.threads.size());
  for (u32 i = 0; i < model.events.size(); i++) {
    if (model.events[i].flags & kEventPython) continue;
    i32 parent = model.events[i].parent;
    while (parent >= 0 && model.events[parent].flags & kEventPython) parent = model.events[parent].parent;
    lists[parent >= 0 ? size_t(parent) : model.events.size() + model.events[i].thread].push_back(i);
  }
  return lists;
}

bool is_below_operator(const Model& model, u32 event) {
  for (i32 e = model.events[event].parent; e >= 0; e = model.events[e].parent)
    if (is_operator(model.events[e])) return true;
  return false;
}

}  // namespace tprof::rules
