#include "live/name_texts.h"

#include <algorithm>

namespace tprof::live {

std::string_view NameTexts::text_of(const RecordView& name) {
  const auto& r = name.as<NameRecord>();
  size_t room = name.bytes() - sizeof r;
  return {reinterpret_cast<const char*>(&r + 1), std::min<size_t>(r.bytes, room)};
}

void NameTexts::keep(u32 id, std::string_view text) {
  if (kept_.size() >= kMostKept) kept_.clear();
  kept_.insert_or_assign(id, std::string(text));
}

void NameTexts::add(const RecordView& name) {
  auto chunk = u32(name.ref >> 32);
  if (chunks_.empty() || chunks_.back().second != chunk) chunks_.emplace_back(name.record->id, chunk);
  if (kept_.size() < kMostKept) keep(name.record->id, text_of(name));
}

const std::string& NameTexts::operator()(u32 id) {
  static const std::string kLost = "(name lost)";
  if (auto known = kept_.find(id); known != kept_.end()) return known->second;
  auto after = std::upper_bound(chunks_.begin(), chunks_.end(), std::pair(id, ~u32(0)));
  ChunkHeader header;
  if (after == chunks_.begin() || !recording_.chunk_header(after[-1].second, header)) return kLost;
  ChunkPlace place = Recording::place_in(after[-1].second, header);
  recording_.read_on(place, [&](const RecordView& view) {
    if (view.kind() == Kind::name && view.record->id == id) keep(id, text_of(view));
  });
  auto found = kept_.find(id);
  return found == kept_.end() ? kLost : found->second;
}

}  // namespace tprof::live
