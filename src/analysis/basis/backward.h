// Which backward ranges belong to which forward operator, by autograd's sequence numbers.
#pragma once
#include <functional>

#include "model/trace.h"

namespace tprof {

// Pairs whose `backward` is all that the engine did for a node: the outermost "evaluate_function" range around the
// paired operator, or the operator itself if there is none. Each range appears once, with the first forward operator
// for which `counts` returns true.
std::vector<ForwardBackward> backward_passes(const Model& model, const std::function<bool(u32 forward)>& counts);

}  // namespace tprof
