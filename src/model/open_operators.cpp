#include "model/open_operators.h"

#include <algorithm>

namespace tprof {
namespace {

bool is_operator(const Event& e) {
  return !(e.flags & (kEventStep | kEventNvtx | kEventPython | kEventAsync)) && e.scope != u8(Scope::user);
}

}  // namespace

OpenOperators::OpenOperators(const Model& model) : model_(model), operators_(model.threads.size()) {
  for (u32 i = 0; i < model.events.size(); i++)
    if (is_operator(model.events[i])) operators_[model.events[i].thread].push_back(i);
  auto earlier = [&](u32 a, u32 b) {
    const Event &x = model.events[a], &y = model.events[b];
    return x.begin_ns != y.begin_ns ? x.begin_ns < y.begin_ns : x.depth < y.depth;
  };
  for (std::vector<u32>& of_thread : operators_)
    if (!std::is_sorted(of_thread.begin(), of_thread.end(), earlier))
      std::stable_sort(of_thread.begin(), of_thread.end(), earlier);
}

// Events of a thread are nested: it is the last one that has begun, or one around that.
u32 OpenOperators::at(u32 thread, i64 ns) const {
  if (thread >= operators_.size()) return kNone;
  const std::vector<u32>& candidates = operators_[thread];
  auto next = std::upper_bound(candidates.begin(), candidates.end(), ns,
                               [&](i64 t, u32 i) { return t < model_.events[i].begin_ns; });
  if (next == candidates.begin()) return kNone;
  for (i32 at = i32(*--next); at >= 0; at = model_.events[size_t(at)].parent)
    if (const Event& e = model_.events[size_t(at)]; is_operator(e) && ns < e.end_ns()) return u32(at);
  return kNone;
}

}  // namespace tprof
