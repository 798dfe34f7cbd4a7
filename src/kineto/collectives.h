// What traces say of collectives, in the words that libkineto has for those of NCCL.
#pragma once
#include <unordered_map>

#include "kineto/argument.h"
#include "model/trace.h"

namespace tprof::kineto {

class CollectiveArguments {
 public:
  explicit CollectiveArguments(const Model& model);

  // The arguments of an event, if it is the label of a collective that ran on the CPU, or its operator where there is
  // no label, or a call into NCCL. What torch asks NCCL for is said where torch.profiler says it: by the operator
  // record_param_comms, which lies in that of the collective.
  std::vector<Argument> of_event(u32 index) const;
  // The arguments of the kernel that carries out one collective.
  std::vector<Argument> of_kernel(u32 gpu) const { return found(by_kernel_, gpu); }

 private:
  using Index = std::unordered_map<u32, const Collective*>;
  void move_to_param_comms();
  std::vector<Argument> found(const Index& in, u32 index) const;

  const Model& model_;
  Index by_event_, by_kernel_;
  u32 param_comms_ = kNone;  // the name of that operator
};

}  // namespace tprof::kineto
