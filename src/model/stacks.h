// Maps the stack ids of a recording to Model::stacks while a Model is loaded. Each id becomes frames once, with the
// text that torch writes: `file(line): function`. A native and a Python stack of the same moment become one chain.
//
// Frames with the same text and the same caller are one frame, so two events have equal stacks if and only if they have
// equal indices.
#pragma once
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "model/trace.h"
#include "symbols/interleave.h"
#include "symbols/symbols.h"

namespace tprof {

// The frames of a Model while it is filled: equal ones are one. To be constructed after the NameTable, which fills the
// first part of Model::names.
class FrameTable {
 public:
  explicit FrameTable(Model& model);
  u32 text(std::string text, bool native = false);  // index into Model::names
  u32 frame(u32 parent, u32 text, bool cut);        // index into Model::stacks
  bool is_cut(u32 index) const { return cut_[index]; }

 private:
  Model& model_;
  std::unordered_map<std::string, u32> texts_;
  std::unordered_set<u32> native_;             // texts of native frames
  std::map<std::pair<u32, u32>, u32> frames_;  // by caller and text
  std::vector<bool> cut_;                      // by frame: some of its callers are not recorded
};

class StackTable {
 public:
  StackTable(const Meta& meta, Model& model, FrameTable& frames);

  // Index into Model::stacks, 0: none. Stacks that could not be recorded or read are counted in the ledger.
  u32 operator()(StackRef ref);

 private:
  // How a StackRecord is shown.
  struct ShownFrame {
    ChainFrame frame;
    bool cut;
  };
  u32 index_of(u32 id);
  u32 combined(StackRef ref);
  std::vector<ChainFrame> chain_of(u32 id);
  const ShownFrame& shown_frame(u32 id, const StackRecord& record);
  bool is_our_own(const StackRecord& record) const;
  void find_native();
  std::string python_text(const StackRecord& record) const;

  const Meta& meta_;
  Model& model_;
  FrameTable& frames_;
  Symbols symbols_;
  std::unordered_map<u32, u32> known_;  // by id of the recording
  std::map<std::pair<u32, u32>, u32> combined_;
  std::unordered_map<u32, ShownFrame> shown_frames_;  // by id of the recording
  std::unordered_map<u64, ChainFrame> native_;        // by StackRecord::at; filled on first use
};

}  // namespace tprof
