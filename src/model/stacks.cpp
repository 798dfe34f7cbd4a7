#include "model/stacks.h"

#include "model/line_table.h"

namespace tprof {
namespace {

constexpr char kCutText[] = "(frames further out are not recorded)";
constexpr char kLostText[] = "(frame lost)";

}  // namespace

StackTable::StackTable(const Meta& meta, Model& model) : meta_(meta), model_(model) {
  model_.stacks.emplace_back();
  cut_.push_back(false);
}

// A native stack is not shown yet: its frames belong between those of Python that called into the library and what it
// called, so both are made into one chain here.
u32 StackTable::operator()(StackRef ref) {
  if (ref.python == 0) return 0;
  u32 index = ref.python == kStackLost ? 0 : python(ref.python);
  if (index == 0) model_.ledger.stacks_lost++;
  if (cut_[index]) model_.ledger.stacks_cut++;
  return index;
}

u32 StackTable::python(u32 id) {
  auto done = known_.find(id);
  if (done != known_.end()) return done->second;
  // Outwards to what is known; a caller was always recorded first, so ids fall.
  std::vector<u32> fresh;
  u32 index = 0;
  for (u32 at = id; at != 0;) {
    auto known = known_.find(at);
    if (known != known_.end()) {
      index = known->second;
      break;
    }
    auto record = meta_.stacks.find(at);
    if (record == meta_.stacks.end()) break;
    fresh.push_back(at);
    u32 parent = record->second.parent;
    at = parent < at ? parent : 0;
  }
  for (size_t i = fresh.size(); i-- > 0;) {
    const StackRecord& record = meta_.stacks.at(fresh[i]);
    index = frame(index, text_of(record), record.code == kStackCut);
    known_[fresh[i]] = index;
  }
  return index;
}

u32 StackTable::frame(u32 parent, std::string text, bool cut) {
  auto [name, new_text] = texts_.emplace(std::move(text), static_cast<u32>(model_.names.size()));
  if (new_text) model_.names.push_back(name->first);
  auto [known, new_frame] = frames_.emplace(std::pair(parent, name->second), static_cast<u32>(model_.stacks.size()));
  if (new_frame) {
    model_.stacks.push_back({parent, name->second});
    cut_.push_back(cut || cut_[parent]);
  }
  return known->second;
}

std::string StackTable::text_of(const StackRecord& record) const {
  if (record.code == kStackCut) return kCutText;
  auto code = meta_.codes.find(record.code);
  if (code == meta_.codes.end()) return kLostText;
  auto name = [&](u32 id) {
    auto known = meta_.names.find(id);
    return known == meta_.names.end() ? std::string("(name lost)") : known->second;
  };
  i32 line = line_of(code->second, record.at);
  std::string number = line == kNoLine ? "?" : std::to_string(line);
  return name(code->second.file) + "(" + number + "): " + name(code->second.name);
}

}  // namespace tprof
