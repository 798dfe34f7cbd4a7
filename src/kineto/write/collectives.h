// What a trace says of the collectives that ran on the CPU, in the words that libkineto has for those of NCCL.
#pragma once
#include <unordered_map>

#include "kineto/write/lines.h"

namespace tprof::kineto {

class CollectiveText {
 public:
  CollectiveText(const Model& model, OutputFile& out);
  // The fields of the event's `args`, if it is the label of a collective, or its operator where there is no label.
  void put(u32 event);

 private:
  const Model& model_;
  OutputFile& out_;
  std::unordered_map<u32, const Collective*> by_event_;
};

}  // namespace tprof::kineto
