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
  // no label.
  std::vector<Argument> of_event(u32 index) const { return found(by_event_, index); }
  // The arguments of a collective's kernel.
  std::vector<Argument> of_kernel(u32 gpu) const { return found(by_kernel_, gpu); }

 private:
  using Index = std::unordered_map<u32, const Collective*>;
  std::vector<Argument> found(const Index& in, u32 index) const;

  const Model& model_;
  Index by_event_, by_kernel_;
};

}  // namespace tprof::kineto
