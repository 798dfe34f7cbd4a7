#include "analysis/ranks/job_path.h"

#include <algorithm>
#include <map>
#include <set>

namespace tprof {
namespace {

class JobWalker {
 public:
  explicit JobWalker(const std::vector<Rank>& ranks) : ranks_(ranks), ends_(ranks.size()) {
    for (u32 r = 0; r < ranks.size(); r++)
      if (!ranks[r].calls.empty()) who_.push_back(r);
    matched_ = match_calls(ranks);
    for (const MatchedCalls& calls : matched_) {
      if (!calls.complete || !waits_for_all(calls.op)) continue;
      for (const MatchedCall& m : calls.members)
        if (m.call->ends_with_others()) ends_[m.rank].push_back({m.call->time().end, &calls});
    }
    for (auto& ends : ends_) std::sort(ends.begin(), ends.end());
  }

  JobPath run() {
    if (who_.size() < 2) return {};
    std::map<std::string, std::vector<std::pair<u32, Interval>>> steps;
    for (u32 r : who_)
      if (ranks_[r].has_steps)
        for (const RankStep& step : ranks_[r].steps) steps[step.name].push_back({r, step.time});
    for (const auto& [name, of_ranks] : steps)
      if (are_all_once(of_ranks)) walk(of_ranks);
    for (auto& [key, row] : rows_) out_.rows.push_back(row);
    std::stable_sort(out_.rows.begin(), out_.rows.end(),
                     [](const JobPathRow& a, const JobPathRow& b) { return a.ns > b.ns; });
    return std::move(out_);
  }

 private:
  // Whether each rank has the step, and once: two threads may both have a step of that name.
  bool are_all_once(const std::vector<std::pair<u32, Interval>>& of_ranks) const {
    return std::equal(of_ranks.begin(), of_ranks.end(), who_.begin(), who_.end(),
                      [](const std::pair<u32, Interval>& step, u32 rank) { return step.first == rank; });
  }

  void add(u32 rank, const std::string& op, i64 ns) {
    if (ns <= 0) return;
    JobPathRow& row = rows_.try_emplace({rank, op}, JobPathRow{rank, op}).first->second;
    row.ns += ns;
    row.pieces++;
    out_.total_ns += ns;
  }

  void walk(const std::vector<std::pair<u32, Interval>>& step) {
    out_.steps++;
    std::map<u32, i64> begins;
    u32 rank = step[0].first;
    i64 longest = -1, at = 0;
    for (const auto& [r, time] : step) {
      begins[r] = time.begin;
      if (time.length() > longest) longest = time.length(), rank = r, at = time.end;
    }
    // Of falsely matched calls the order may differ between ranks, so that the way comes back to where it was.
    for (std::set<const MatchedCalls*> passed;;) {
      const auto& ends = ends_[rank];
      auto next = std::upper_bound(ends.begin(), ends.end(), std::pair<i64, const MatchedCalls*>(at, after_all()));
      if (next == ends.begin() || std::prev(next)->first <= begins[rank]) break;
      const auto& [end, calls] = *std::prev(next);
      if (!passed.insert(calls).second) break;
      const MatchedCall* last = &calls->members[0];  // who arrived last has the shortest call
      for (const MatchedCall& m : calls->members)
        if (m.call->dur_ns < last->call->dur_ns) last = &m;
      if (last->call->begin_ns < begins[last->rank]) break;  // it was entered in the step before
      add(rank, "", at - end);
      add(last->rank, calls->op, last->call->dur_ns);
      out_.changes += last->rank != rank;
      if (last->rank == rank && last->call->begin_ns >= at) break;
      rank = last->rank;
      at = last->call->begin_ns;
    }
    add(rank, "", at - begins[rank]);
  }

  // Greater than any pointer to a match.
  const MatchedCalls* after_all() const { return matched_.data() + matched_.size(); }

  const std::vector<Rank>& ranks_;
  std::vector<u32> who_;
  std::vector<MatchedCalls> matched_;
  std::vector<std::vector<std::pair<i64, const MatchedCalls*>>> ends_;  // by rank, in order
  std::map<std::pair<u32, std::string>, JobPathRow> rows_;
  JobPath out_;
};

}  // namespace

JobPath job_path(const std::vector<Rank>& ranks) { return JobWalker(ranks).run(); }

}  // namespace tprof
