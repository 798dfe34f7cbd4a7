#include "analysis/tables/slice_sums.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace tprof {
namespace {

// How much of [begin, end) the set has, for intervals that are asked for in order of time.
class Covered {
 public:
  explicit Covered(const IntervalSet& set) : all_(set.intervals()) {}
  i64 operator()(i64 begin, i64 end) {
    while (at_ < all_.size() && all_[at_].end <= begin) at_++;
    i64 sum = 0;
    for (size_t i = at_; i < all_.size() && all_[i].begin < end; i++)
      sum += std::min(all_[i].end, end) - std::max(all_[i].begin, begin);
    return sum;
  }

 private:
  const std::vector<Interval>& all_;
  size_t at_ = 0;
};

class Summer {
 public:
  Summer(const Model& model, const Tracks& tracks, const SliceRange& range)
      : model_(model), tracks_(tracks), range_(range) {}

  std::vector<SliceSum> sums() {
    for (u32 i = 0; i < tracks_.tracks.size(); i++) add(i);
    return std::move(sums_);
  }

 private:
  void add(u32 number) {
    const Track& track = tracks_.tracks[number];
    size_t first = sums_.size();
    index_.clear();
    IntervalSet below;
    for (size_t row = track.rows.size(); row-- > 0;) {
      Covered covered(below);
      std::vector<Interval> here;
      for (size_t i = 0; i < track.rows[row].n; i++) {
        const Slice& s = tracks_.slices[track.rows[row].first + i];
        if (!range_.holds(s)) continue;
        i64 begin = std::max(s.begin_ns, range_.begin_ns), end = std::min(s.end_ns(), range_.end_ns);
        count(number, s, end - begin, end - begin - covered(begin, end));
        here.push_back({begin, end});
      }
      below = below | IntervalSet(std::move(here));
    }
    std::sort(sums_.begin() + i64(first), sums_.end(), [this](const SliceSum& a, const SliceSum& b) {
      if (a.total_ns != b.total_ns) return a.total_ns > b.total_ns;
      int names = model_.names[a.name].compare(model_.names[b.name]);
      return names ? names < 0 : std::string_view(name_of(a.kind)) < name_of(b.kind);
    });
  }

  void count(u32 track, const Slice& s, i64 ns, i64 self_ns) {
    auto [at, is_new] = index_.try_emplace(u64(s.name) << 8 | u64(s.kind), sums_.size());
    if (is_new) sums_.push_back({track, s.name, s.kind, 0, 0, 0, ns, ns});
    SliceSum& sum = sums_[at->second];
    sum.count++;
    sum.total_ns += ns;
    sum.self_ns += self_ns;
    sum.min_ns = std::min(sum.min_ns, ns);
    sum.max_ns = std::max(sum.max_ns, ns);
  }

  const Model& model_;
  const Tracks& tracks_;
  const SliceRange range_;
  std::vector<SliceSum> sums_;
  std::unordered_map<u64, size_t> index_;  // of a track, by name and kind
};

}  // namespace

std::vector<SliceSum> slice_sums(const Model& model, const Tracks& tracks, const SliceRange& range) {
  return Summer(model, tracks, range).sums();
}

}  // namespace tprof
