#include "analysis/basis/backward.h"

namespace tprof {

std::vector<ForwardBackward> backward_passes(const Model& model, const std::function<bool(u32 forward)>& counts) {
  std::vector<ForwardBackward> out;
  std::vector<bool> seen(model.events.size());
  for (const ForwardBackward& pair : model.pairs) {
    u32 root = pair.backward;
    for (i32 up = i32(root); up >= 0; up = model.events[size_t(up)].parent)
      if (model.name_of(model.events[size_t(up)]).starts_with(kEvaluatePrefix)) root = u32(up);
    if (seen[root] || !counts(pair.forward)) continue;
    seen[root] = true;
    out.push_back({pair.forward, root});
  }
  return out;
}

}  // namespace tprof
