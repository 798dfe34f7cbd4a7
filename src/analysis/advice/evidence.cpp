#include "analysis/advice/evidence.h"

#include <algorithm>

namespace tprof::rules {

std::vector<Evidence> Heaviest::take() {
  size_t n = std::min(kMaxEvidence, all_.size());
  std::partial_sort(all_.begin(), all_.begin() + i64(n), all_.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<Evidence> out;
  for (size_t i = 0; i < n; i++) out.push_back({kind_, all_[i].second});
  return out;
}

std::vector<Evidence> longest_ranges(const Facts& facts, Where where, NameClass name_class) {
  Heaviest heaviest(Evidence::Kind::range);
  for (u32 i = 0; i < facts.model.events.size(); i++) {
    const Event& e = facts.model.events[i];
    if (!facts.classes.is(e, name_class) || (where == Where::windows && !facts.inside(e.begin_ns))) continue;
    heaviest.add(e.dur_ns, i);
  }
  return heaviest.take();
}

}  // namespace tprof::rules
