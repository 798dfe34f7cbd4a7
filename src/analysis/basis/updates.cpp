#include "analysis/basis/updates.h"

#include <algorithm>

namespace tprof {

i64 updates_from(const Model& model, const NameClasses& classes, u32 range) {
  const Event& step = model.events[range];
  i64 from = step.begin_ns;
  bool closure = false;  // shown on its own thread; then backward passes of other threads belong to it as well
  for (u32 i = range + 1; i < model.events.size() && model.events[i].begin_ns < step.end_ns(); i++) {
    const Event& e = model.events[i];
    bool own = e.thread == step.thread;
    bool backward = model.names[e.name].starts_with(kEvaluatePrefix);
    if (!backward && !(own && classes.is(e, NameClass::zero_grad))) continue;
    closure |= own;
    from = std::max(from, e.end_ns());
  }
  return closure ? std::min(from, step.end_ns()) : step.begin_ns;
}

}  // namespace tprof
