// From the stack ids of a recording to Model::stacks, while a Model is loaded: each id is turned into frames once, with the
// text that torch writes, `file(line): function`.
//
// Frames with the same text below the same caller become one, so events have equal stacks exactly if they have equal
// indices.
#pragma once
#include <map>
#include <unordered_map>
#include <utility>

#include "model/trace.h"

namespace tprof {

class StackTable {
 public:
  // Behind the NameTable, which begins Model::names.
  StackTable(const Meta& meta, Model& model);

  // Index into Model::stacks, 0 none. What could not be recorded or read is counted in the ledger.
  u32 operator()(StackRef ref);

 private:
  u32 python(u32 id);
  u32 frame(u32 parent, std::string text, bool cut);
  std::string text_of(const StackRecord& record) const;

  const Meta& meta_;
  Model& model_;
  std::unordered_map<u32, u32> known_;  // by id of the recording
  std::unordered_map<std::string, u32> texts_;
  std::map<std::pair<u32, u32>, u32> frames_;  // by caller and text
  std::vector<bool> cut_;                      // by frame: it stands below a mark of cut frames
};

}  // namespace tprof
