#include "analysis/ranks/clocks.h"

#include <algorithm>
#include <map>

#include "analysis/ranks/matching.h"

namespace tprof {
namespace {

i64 quartile_of(std::vector<i64>& values, size_t quarter) {
  size_t at = (values.size() - 1) * quarter / 4;
  std::nth_element(values.begin(), values.begin() + i64(at), values.end());
  return values[at];
}

// What the collectives say of the offset between two sets of ranks.
struct Differences {
  i64 low_ns = INT64_MIN, high_ns = INT64_MAX;
  std::vector<i64> ends;  // differences

  bool contradicts_zero() const { return !ends.empty() && (low_ns > 0 || high_ns < 0); }
};

// The calls of some of a collective's ranks: the last begin and the first end bound those of others.
struct GroupEnds {
  i64 last_begin = INT64_MIN, first_end = INT64_MAX;
  std::vector<i64> ends;

  void add(const CollectiveCall& call) {
    last_begin = std::max(last_begin, call.begin_ns);
    first_end = std::min(first_end, call.time().end);
    ends.push_back(call.time().end);
  }
};

class ClockFinder {
 public:
  explicit ClockFinder(const std::vector<Rank>& ranks) : ranks_(ranks), of_rank_(ranks.size()) {
    u32 number = 0;
    for (const MatchedCalls& calls : match_calls(ranks)) {
      if (calls.members.size() < 2 || !needs_all(calls.op)) continue;
      for (const MatchedCall& member : calls.members)
        if (member.call->ends_with_others()) of_rank_[member.rank].push_back({number, member.call, calls.by_number});
      number++;
    }
  }

  Clocks run() {
    group();
    split();
    place();
    for (Clock& clock : out_.clocks) clock.host = ranks_[clock.ranks[0]].host;
    return std::move(out_);
  }

 private:
  using Ends = std::map<u32, GroupEnds>;  // by number of the collective

  // Ranks of the same boot; where that is not known, of the same host.
  void group() {
    std::map<std::string, u32> by_name;
    for (u32 r = 0; r < ranks_.size(); r++) {
      const Rank& rank = ranks_[r];
      std::string name = !rank.boot.empty()   ? "boot " + rank.boot
                         : !rank.host.empty() ? "host " + rank.host
                                              : "rank " + std::to_string(r);
      auto [at, added] = by_name.try_emplace(name, u32(out_.clocks.size()));
      if (added) out_.clocks.emplace_back();
      out_.clocks[at->second].ranks.push_back(r);
      out_.of_rank.push_back(at->second);
    }
  }

  // Takes ranks out of their group whose calls contradict those of its first rank. What was counted may be miscounted,
  // and contradicts nothing.
  void split() {
    for (u32 r = 0; r < ranks_.size(); r++) {
      u32 group = out_.of_rank[r], first = out_.clocks[group].ranks[0];
      if (r == first || !compare(ends_of({r}, true), ends_of({first}, true)).contradicts_zero()) continue;
      std::erase(out_.clocks[group].ranks, r);
      out_.of_rank[r] = u32(out_.clocks.size());
      out_.clocks.emplace_back().ranks.push_back(r);
    }
  }

  Ends ends_of(const std::vector<u32>& ranks, bool only_numbered = false) const {
    Ends out;
    for (u32 r : ranks)
      for (const auto& [number, call, by_number] : of_rank_[r])
        if (by_number || !only_numbered) out[number].add(*call);
    return out;
  }

  static Differences compare(Ends clock, Ends with) {
    Differences out;
    for (auto& [number, ends] : clock) {
      auto other = with.find(number);
      if (other == with.end()) continue;
      out.low_ns = std::max(out.low_ns, ends.last_begin - other->second.first_end);
      out.high_ns = std::min(out.high_ns, ends.first_end - other->second.last_begin);
      out.ends.push_back(quartile_of(ends.ends, 2) - quartile_of(other->second.ends, 2));
    }
    return out;
  }

  // Compares each clock with the known one with which it shares most collectives, until no more can be known.
  void place() {
    if (out_.clocks.empty()) return;
    std::vector<Ends> ends;
    for (const Clock& clock : out_.clocks) ends.push_back(ends_of(clock.ranks));
    out_.clocks[0].known = true;
    for (bool more = true; more;) {
      more = false;
      for (u32 c = 0; c < out_.clocks.size(); c++) {
        if (out_.clocks[c].known) continue;
        u32 with = kNone;
        size_t most = 0;
        for (u32 k = 0; k < out_.clocks.size(); k++) {
          if (!out_.clocks[k].known) continue;
          size_t shared = 0;
          for (const auto& [number, one] : ends[c]) shared += ends[k].contains(number);
          if (shared > most) most = shared, with = k;
          if (shared == ends[c].size()) break;  // none shares more
        }
        if (with == kNone) continue;
        Differences found = compare(ends[c], ends[with]);
        fill(out_.clocks[c], found, out_.clocks[with]);
        more = true;
      }
    }
  }

  static void fill(Clock& clock, Differences& found, const Clock& with) {
    i64 lower = quartile_of(found.ends, 1), upper = quartile_of(found.ends, 3);
    clock.known = true;
    clock.collectives = found.ends.size();
    clock.drifts = found.low_ns > found.high_ns;
    if (clock.drifts) {
      std::swap(found.low_ns, found.high_ns);
      found.low_ns = std::min(found.low_ns, lower);
      found.high_ns = std::max(found.high_ns, upper);
    }
    clock.offset_ns = with.offset_ns + std::clamp(quartile_of(found.ends, 2), found.low_ns, found.high_ns);
    clock.low_ns = with.low_ns + found.low_ns;
    clock.high_ns = with.high_ns + found.high_ns;
    clock.lower_quartile_ns = with.lower_quartile_ns + lower;
    clock.upper_quartile_ns = with.upper_quartile_ns + upper;
    clock.drifts |= with.drifts;
  }

  const std::vector<Rank>& ranks_;
  struct Call {
    u32 number;  // of the collective
    const CollectiveCall* call;
    bool by_number;
  };
  std::vector<std::vector<Call>> of_rank_;
  Clocks out_;
};

}  // namespace

Clocks clocks_of(const std::vector<Rank>& ranks) { return ClockFinder(ranks).run(); }

}  // namespace tprof
