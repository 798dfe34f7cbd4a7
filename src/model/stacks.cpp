#include "model/stacks.h"

#include "symbols/line_table.h"

namespace tprof {
namespace {

constexpr char kCutText[] = "(frames further out are not recorded)";
constexpr char kLostText[] = "(frame lost)";
constexpr char kEvaluates[] = "_PyEval_EvalFrameDefault";  // the interpreter, in all its parts (.cold)
constexpr u16 kSharesNativeFrames = 3 << 8 | 11;           // from this Python on, see kStackEntered

}  // namespace

FrameTable::FrameTable(Model& model) : model_(model) {
  model_.stacks.emplace_back();
  cut_.push_back(false);
}

u32 FrameTable::text(std::string text, bool native) {
  auto [name, added] = texts_.emplace(std::move(text), u32(model_.names.size()));
  if (added) model_.names.push_back(name->first);
  if (native) native_.insert(name->second);
  return name->second;
}

u32 FrameTable::frame(u32 parent, u32 text, bool cut) {
  auto [known, added] = frames_.emplace(std::pair(parent, text), u32(model_.stacks.size()));
  if (added) {
    model_.stacks.push_back({parent, text, native_.contains(text)});
    cut_.push_back(cut || cut_[parent]);
  }
  return known->second;
}

StackTable::StackTable(const Meta& meta, Model& model, FrameTable& frames)
    : meta_(meta), model_(model), frames_(frames), symbols_(meta) {}

u32 StackTable::operator()(StackRef ref) {
  if (ref.python == 0 && ref.native == 0) return 0;
  bool lost = ref.python == kStackLost || ref.native == kStackLost;
  if (ref.python == kStackLost) ref.python = 0;
  if (ref.native == kStackLost) ref.native = 0;
  u32 index = ref.python && ref.native ? combined(ref) : index_of(ref.python | ref.native);
  if (lost || index == 0) model_.ledger.stacks_lost++;
  if (frames_.is_cut(index)) model_.ledger.stacks_cut++;
  return index;
}

// For an id whose whole chain is in the recording: Python or native frames only.
u32 StackTable::index_of(u32 id) {
  // From the innermost frame outwards to one that is known. A caller was recorded before, so it has a lower id.
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
    if (!is_our_own(record)) {
      const ShownFrame& shown = shown_frame(fresh[i], record);
      index = frames_.frame(index, shown.frame.text, shown.cut);
    }
    known_[fresh[i]] = index;
  }
  return index;
}

u32 StackTable::combined(StackRef ref) {
  auto [known, added] = combined_.try_emplace({ref.python, ref.native}, 0);
  if (!added) return known->second;
  std::vector<u32> texts = interleaved(chain_of(ref.native), chain_of(ref.python));
  u32 index = 0, cut = frames_.text(kCutText);
  for (size_t i = texts.size(); i-- > 0;) index = frames_.frame(index, texts[i], texts[i] == cut);
  return known->second = index;
}

bool StackTable::is_our_own(const StackRecord& record) const {
  auto code = meta_.codes.find(record.code);
  if (code == meta_.codes.end()) return false;
  auto file = meta_.names.find(code->second.file);
  return file != meta_.names.end() && file->second == kOwnFile;
}

// Starts with the innermost frame.
std::vector<ChainFrame> StackTable::chain_of(u32 id) {
  std::vector<ChainFrame> chain;
  while (id != 0) {
    auto record = meta_.stacks.find(id);
    if (record == meta_.stacks.end()) break;
    if (!is_our_own(record->second)) chain.push_back(shown_frame(id, record->second).frame);
    u32 parent = record->second.parent;
    id = parent < id ? parent : 0;
  }
  return chain;
}

const StackTable::ShownFrame& StackTable::shown_frame(u32 id, const StackRecord& record) {
  auto known = shown_frames_.find(id);
  if (known != shown_frames_.end()) return known->second;
  ShownFrame shown{};
  if (record.code == kStackCut) {
    shown = {{frames_.text(kCutText), false}, true};
  } else if (record.code == 0) {
    if (native_.empty()) find_native();
    shown.frame = native_[record.at];
  } else {
    auto code = meta_.codes.find(record.code);
    bool shares = code != meta_.codes.end() && code->second.python >= kSharesNativeFrames;
    shown.frame = {frames_.text(python_text(record)), !shares || (record.at & kStackEntered)};
  }
  return shown_frames_[id] = shown;
}

// All native frames at once, since their source lines come from another program.
void StackTable::find_native() {
  std::vector<u64> frames;
  for (const auto& [id, record] : meta_.stacks)
    if (record.code == 0 && native_.try_emplace(record.at).second) frames.push_back(record.at);
  std::vector<CodeLocation> places = symbols_.locations_of(frames);
  for (size_t i = 0; i < frames.size(); i++)
    native_[frames[i]] = {frames_.text(places[i].text(), true), places[i].function.starts_with(kEvaluates),
                          places[i].image.starts_with("python") || places[i].image.starts_with("libpython")};
}

std::string StackTable::python_text(const StackRecord& record) const {
  auto code = meta_.codes.find(record.code);
  if (code == meta_.codes.end()) return kLostText;
  auto name = [&](u32 id) {
    auto known = meta_.names.find(id);
    return known == meta_.names.end() ? std::string("(name lost)") : known->second;
  };
  i32 line = line_of(code->second, record.at & ~kStackEntered);
  std::string number = line == kNoLine ? "?" : std::to_string(line);
  return name(code->second.file) + "(" + number + "): " + name(code->second.name);
}

}  // namespace tprof
