#include "analysis/ranks/stragglers.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace tprof {
namespace {

// A stretch of time in which ranks are compared; by rank that takes part.
struct Part {
  std::vector<i64> own_ns, length_ns;
  std::vector<const RankStep*> steps;  // empty: it is no step
};

// The median; for an even count, the mean of the middle two.
double middle_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  size_t n = values.size();
  return n == 0 ? 0 : (values[(n - 1) / 2] + values[n / 2]) / 2;
}

// One rank's value minus the median of the others.
template <class Get>
double against_others(size_t one, size_t count, Get get) {
  std::vector<double> others;
  for (size_t i = 0; i < count; i++)
    if (i != one) others.push_back(get(i));
  return get(one) - middle_of(std::move(others));
}

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
  }

 private:
  const Rank& rank(size_t i) const { return ranks_[who_[i]]; }
  RankWait& wait(size_t i) { return out_.waits[who_[i]]; }

  void add(Part& part, u32 r, const Interval& time) const {
    part.length_ns.push_back(time.length());
    part.own_ns.push_back(time.length() - times_[r].waits.length_in(time.begin, time.end));
  }

  // Steps of the same name, on all ranks.
  void add_steps() {
    std::map<std::string_view, Part> found;
    for (u32 r : who_)
      for (const RankStep& step : ranks_[r].steps) {
        Part& part = found[step.name];
        add(part, r, step.time);
        part.steps.push_back(&step);
      }
    for (auto& [name, part] : found)
      if (part.steps.size() == who_.size()) parts_.push_back(std::move(part));
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
    first_.resize(who_.size());
    second_.resize(who_.size());
    if (parts_.empty()) return;
    auto count = double(parts_.size());
    for (const Part& part : parts_) {
      for (size_t i = 0; i < who_.size(); i++) {
        auto longer = std::count_if(part.own_ns.begin(), part.own_ns.end(), [&](i64 x) { return x >= part.own_ns[i]; });
        first_[i] += longer == 1;  // on a tie, no rank counts
        second_[i] += longer <= 2;
        out_.stretch_ns += i64(double(part.length_ns[i]) / count / double(who_.size()));
      }
    }
    for (size_t i = 0; i < who_.size(); i++) {
      auto mean = [&](auto get) {
        double sum = 0;
        for (const Part& part : parts_) sum += against_others(i, who_.size(), [&](size_t k) { return get(part, k); });
        return sum / count;
      };
      RankWait& w = wait(i);
      w.slowest_in = first_[i];
      w.excess_ns = i64(mean([](const Part& part, size_t k) { return double(part.own_ns[k]); }));
      if (parts_[0].steps.empty()) continue;
      for (u32 c = 0; c < kCategories; c++) {
        if (static_cast<Category>(c) == Category::communication) continue;  // waiting is in it
        i64 more = whole_ns(mean([&](const Part& part, size_t k) { return part.steps[k]->by[c]; }));
        if (more > w.excess_in_ns) w.excess_in = static_cast<Category>(c), w.excess_in_ns = more;
      }
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

  Distributed& out_;
  const std::vector<Rank>& ranks_;
  const std::vector<RankTimes>& times_;
  std::vector<u32> who_;  // ranks that take part
  std::vector<Part> parts_;
  std::vector<u64> first_, second_;  // in how many parts each was the slowest, one of the two slowest
};

}  // namespace

void find_stragglers(Distributed& out, const std::vector<Rank>& ranks, const std::vector<RankTimes>& times) {
  Comparison(out, ranks, times).run();
}

}  // namespace tprof
