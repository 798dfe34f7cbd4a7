#include "analysis/basis/innermost.h"

namespace tprof {

bool is_operator(const Event& event) {
  return static_cast<Scope>(event.scope) != Scope::user && !(event.flags & (kEventStep | kEventNvtx | kEventPython));
}

Innermost::Innermost(const Model& model) : model_(model), events_(model.threads.size()), next_(model.threads.size()) {
  for (u32 i = 0; i < model.events.size(); i++) events_[model.events[i].thread].push_back(i);
}

i32 Innermost::at(u32 thread, i64 ns) {
  const std::vector<u32>& list = events_[thread];
  size_t& next = next_[thread];
  while (next < list.size() && model_.events[list[next]].begin_ns <= ns) next++;
  i32 event = next ? i32(list[next - 1]) : -1;
  while (event >= 0 && (model_.events[event].end_ns() < ns || !is_operator(model_.events[event])))
    event = model_.events[event].parent;
  return event;
}

}  // namespace tprof
