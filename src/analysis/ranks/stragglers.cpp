#include "analysis/ranks/stragglers.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

namespace tprof {
namespace {

// A stretch of time in which ranks are compared; by rank that takes part.
struct Part {
  std::vector<i64> own_ns, length_ns, late_leave_ns;
  std::vector<const RankStep*> steps;  // empty: it is no step
  std::vector<u32> ranks = {};         // of the steps
};

// The values of all ranks in one part.
class Field {
 public:
  template <class Get>
  Field(size_t count, Get get) {
    for (size_t i = 0; i < count; i++) values_.push_back(double(get(i)));
    sorted_ = values_;
    std::sort(sorted_.begin(), sorted_.end());
  }

  double operator[](size_t i) const { return values_[i]; }
  // How many ranks have at least as much as this one, itself included.
  size_t at_least(size_t i) const {
    return size_t(sorted_.end() - std::lower_bound(sorted_.begin(), sorted_.end(), values_[i]));
  }
  // A rank's value minus the median of the others.
  double over_others(size_t i) const {
    size_t own = size_t(std::lower_bound(sorted_.begin(), sorted_.end(), values_[i]) - sorted_.begin());
    size_t n = sorted_.size() - 1;
    auto other = [&](size_t k) { return sorted_[k < own ? k : k + 1]; };
    return n == 0 ? values_[i] : values_[i] - (other((n - 1) / 2) + other(n / 2)) / 2;
  }
  double sum() const { return std::accumulate(values_.begin(), values_.end(), 0.0); }

 private:
  std::vector<double> values_, sorted_;
};

// P(k or more of n), each with probability p.
double binomial_tail(u64 n, u64 k, double p) {
  double sum = 0;
  for (u64 i = k; i <= n; i++) {
    double ln = std::lgamma(double(n) + 1) - std::lgamma(double(i) + 1) - std::lgamma(double(n - i) + 1);
    sum += std::exp(ln + double(i) * std::log(p) + (i < n ? double(n - i) * std::log1p(-p) : 0));
  }
  return std::min(sum, 1.0);
}

class Comparison {
 public:
  Comparison(Distributed& out, const std::vector<Rank>& ranks, const std::vector<RankTimes>& times)
      : out_(out), ranks_(ranks), times_(times) {
    for (u32 r = 0; r < ranks.size(); r++)
      if (!ranks[r].calls.empty()) who_.push_back(r);
  }

  void run() {
    if (who_.size() < 2) return;
    bool steps = std::all_of(who_.begin(), who_.end(), [&](u32 r) { return ranks_[r].has_steps; });
    if (steps)
      add_steps();
    else
      add_stretches();
    out_.compared = parts_.size();
    out_.compared_steps = steps;
    measure();
    for (size_t i = 0; i < who_.size(); i++) out_.waits[who_[i]].straggler = answer(i);
    for (size_t i = 0; i < who_.size(); i++) blame_collectives(i);
    compare_work();
    if (steps) add_stages();
  }

 private:
  const Rank& rank(size_t i) const { return ranks_[who_[i]]; }
  RankWait& wait(size_t i) { return out_.waits[who_[i]]; }

  void add(Part& part, u32 r, const Interval& time) const {
    part.length_ns.push_back(time.length());
    part.own_ns.push_back(time.length() - times_[r].waits.length_in(time.begin, time.end));
    part.late_leave_ns.push_back(0);
    const auto& leaves = times_[r].late_leaves;
    auto first = std::lower_bound(leaves.begin(), leaves.end(), std::pair<i64, i64>(time.begin, INT64_MIN));
    for (auto at = first; at != leaves.end() && at->first < time.end; ++at) part.late_leave_ns.back() += at->second;
  }

  // Steps of the same name, on all ranks.
  void add_steps() {
    std::map<std::string_view, Part> found;
    for (u32 r : who_)
      for (const RankStep& step : ranks_[r].steps) {
        Part& part = found[step.name];
        add(part, r, step.time);
        part.steps.push_back(&step);
        part.ranks.push_back(r);
      }
    for (auto& [name, part] : found)  // two threads of a rank may both have a step of that name
      if (part.ranks == who_) parts_.push_back(std::move(part));
  }

  // All ranks leave a collective together, so two of them enclose the same stretch on each.
  void add_stretches() {
    size_t ends = times_[who_[0]].common_ends.size();
    if (ends < 2) return;
    size_t count = std::min(kMaxParts, ends - 1);
    for (size_t p = 0; p < count; p++) {
      Part part;
      for (u32 r : who_) {
        const std::vector<i64>& at = times_[r].common_ends;
        add(part, r, {at[p * (ends - 1) / count], at[(p + 1) * (ends - 1) / count]});
      }
      parts_.push_back(std::move(part));
    }
  }

  void measure() {
    size_t n = who_.size();
    first_.resize(n);
    second_.resize(n);
    last_out_.resize(n);
    if (parts_.empty()) return;
    bool steps = !parts_[0].steps.empty();
    std::vector<double> excess(n), late(n), stages[kStages];
    for (std::vector<double>& stage : stages) stage.resize(n);
    double length = 0;
    for (const Part& part : parts_) {
      Field own(n, [&](size_t i) { return part.own_ns[i]; });
      Field leaves(n, [&](size_t i) { return part.late_leave_ns[i]; });
      for (size_t i = 0; i < n; i++) {
        first_[i] += own.at_least(i) == 1;  // on a tie, no rank counts
        second_[i] += own.at_least(i) <= 2;
        last_out_[i] += leaves.at_least(i) == 1;
        excess[i] += own.over_others(i);
        late[i] += leaves.over_others(i);
        length += double(part.length_ns[i]);
      }
      for (u32 s = 0; steps && s < u32(Stage::collective); s++) {  // waiting is in that one
        Field stage(n, [&](size_t i) { return part.steps[i]->stages[s]; });
        for (size_t i = 0; i < n; i++) stages[s][i] += stage.over_others(i);
      }
    }
    auto count = double(parts_.size());
    out_.stretch_ns = i64(length / count / double(n));
    for (size_t i = 0; i < n; i++) {
      RankWait& w = wait(i);
      w.slowest_in = first_[i];
      w.excess_ns = i64(excess[i] / count);
      w.last_out_in = last_out_[i];
      w.late_leave_ns = i64(late[i] / count);
      for (u32 s = 0; s < u32(Stage::collective); s++)
        if (i64 more = i64(stages[s][i] / count); more > w.excess_in_ns)
          w.excess_in = static_cast<Stage>(s), w.excess_in_ns = more;
    }
  }

  // The corrected probability that an ordinary rank is among the slowest this often.
  double chance(u64 first, u64 second) const {
    auto n = double(who_.size());
    bool two = who_.size() >= 4;
    double least = binomial_tail(parts_.size(), first, 1 / n);
    if (two) least = std::min(least, binomial_tail(parts_.size(), second, 2 / n));
    return least * n * (two ? 2 : 1);
  }

  Straggler answer(size_t i) const {
    const RankWait& w = out_.waits[who_[i]];
    u64 all = parts_.size();
    if (all == 0 || chance(all, all) >= kStragglerChance) return Straggler::unknown;
    if (double(w.excess_ns) <= kStragglerShare * double(out_.stretch_ns)) return Straggler::no;
    return chance(first_[i], second_[i]) < kStragglerChance ? Straggler::yes : Straggler::unknown;
  }

  // What it does itself is not longer, and yet others wait for it, since it was not ready with the collective before.
  void blame_collectives(size_t i) {
    RankWait& w = wait(i);
    if (parts_.empty() || w.straggler == Straggler::yes ||
        double(w.late_leave_ns) <= kLateLeaveShare * double(out_.stretch_ns) ||
        chance(last_out_[i], 0) >= kStragglerChance)
      return;
    w.leaves_late = true;
    w.straggler = Straggler::yes;
    w.excess_in = Stage::collective;
    w.excess_in_ns = w.late_leave_ns;
  }

  void compare_work() {
    auto compare = [&](auto get, double RankWait::*out) {
      Field all(who_.size(), [&](size_t i) { return get(rank(i)); });
      for (size_t i = 0; i < who_.size(); i++)
        if (get(rank(i)) < 0) return;  // not known
      for (size_t i = 0; i < who_.size(); i++)
        if (double median = all[i] - all.over_others(i); median > 0) wait(i).*out = all[i] / median;
    };
    compare([](const Rank& r) { return double(r.work.operators); }, &RankWait::more_operators);
    compare([](const Rank& r) { return double(r.work.elements); }, &RankWait::more_elements);
  }

  void add_stages() {
    if (parts_.empty()) return;
    auto count = double(parts_.size());
    size_t n = who_.size();
    std::array<double, kStages> frontier{};
    for (const Part& part : parts_) {
      std::vector<i64> until(n);
      i64 before = 0;
      for (u32 s = 0; s < kStages; s++) {
        for (size_t i = 0; i < n; i++) until[i] += part.steps[i]->stages[s];
        i64 now = *std::max_element(until.begin(), until.end());
        frontier[s] += double(now - before) / count;
        before = now;
      }
    }
    for (u32 s = 0; s < kStages; s++) {
      StageRow row{static_cast<Stage>(s), 0, i64(frontier[s])};
      std::vector<u64> first(n);
      std::vector<double> excess(n);
      double sum = 0;
      for (const Part& part : parts_) {
        Field stage(n, [&](size_t i) { return part.steps[i]->stages[s]; });
        sum += stage.sum();
        for (size_t i = 0; i < n; i++) {
          first[i] += stage[i] > 0 && stage.at_least(i) == 1;
          excess[i] += stage.over_others(i);
        }
      }
      row.mean_ns = i64(sum / count / double(n));
      if (row.mean_ns == 0) continue;
      size_t slowest = size_t(std::max_element(first.begin(), first.end()) - first.begin());
      row.slowest = who_[slowest];
      row.slowest_in = first[slowest];
      row.excess_ns = i64(excess[slowest] / count);
      out_.stages.push_back(row);
    }
  }

  Distributed& out_;
  const std::vector<Rank>& ranks_;
  const std::vector<RankTimes>& times_;
  std::vector<u32> who_;  // ranks that take part
  std::vector<Part> parts_;
  std::vector<u64> first_, second_;  // in how many parts each was the slowest, one of the two slowest
  std::vector<u64> last_out_;        // in how many it left collectives last
};

}  // namespace

void find_stragglers(Distributed& out, const std::vector<Rank>& ranks, const std::vector<RankTimes>& times) {
  Comparison(out, ranks, times).run();
}

}  // namespace tprof
