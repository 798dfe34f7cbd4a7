// Which backward work belongs to which forward operator, by the pairs that autograd's sequence numbers make.
#pragma once
#include <functional>

#include "model/trace.h"

namespace tprof {

// Pairs whose `backward` is the whole of what the engine did for that node: the outermost "evaluate_function" range
// around the paired operator, or the operator itself where there is none. Each appears once, with the first forward
// operator for which `counts` holds.
std::vector<ForwardBackward> backward_passes(const Model& model, const std::function<bool(u32 forward)>& counts);

}  // namespace tprof
