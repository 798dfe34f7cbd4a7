#include "live/breakdown.h"

#include <algorithm>

namespace tprof::live {

void Breakdown::add(Category category, u64 begin, u64 end) {
  if (end <= begin || end <= done_) return;
  seen_[u32(category)] = true;
  std::vector<Interval>& mine = intervals_[u32(category)];
  if (mine.size() >= kMostIntervals) {
    auto last = mine.begin() + kMostIntervals / 2;
    given_up_ = std::max(given_up_, u64(last->end));
    mine.erase(mine.begin(), last + 1);
  }
  mine.push_back({i64(begin), i64(end)});
}

void Breakdown::finish(std::vector<StepParts> steps) {
  if (!steps.empty()) overflowed_ = steps.back().begin < given_up_;
  std::erase_if(steps, [this](const StepParts& step) { return step.begin < given_up_; });
  if (steps.empty()) return;
  auto begin = i64(steps.front().begin), end = i64(steps.back().end);
  size_t at = steps_.size();
  steps_.insert(steps_.end(), steps.begin(), steps.end());
  IntervalSet rest(begin, end);
  for (u32 c = 0; c < kCategories; c++) {
    IntervalSet mine = c < kCategories - 1 ? rest & IntervalSet(intervals_[c]) : rest;
    rest = rest - mine;
    for (size_t i = at; i < steps_.size(); i++)
      steps_[i].by[c] = u64(mine.length_in(i64(steps_[i].begin), i64(steps_[i].end)));
  }
  for (auto& list : intervals_) std::erase_if(list, [&](const Interval& i) { return i.end <= end; });
  done_ = steps.back().end;
  while (steps_.size() > kMostSteps) steps_.pop_front();
}

void Breakdown::forget_from(i64 number) {
  while (!steps_.empty() && steps_.back().number >= number) steps_.pop_back();
}

MeanStep Breakdown::mean(u64 recent) const {
  MeanStep out;
  if (steps_.empty()) return out;
  out.end = steps_.back().end;
  out.last = steps_.back().number;
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    bool next = out.steps == 0 || step->number == out.first - 1;
    if (!next || (out.steps && step->end + recent < out.end)) break;
    out.steps++;
    out.first = step->number;
    out.ticks += double(step->end - step->begin);
    for (u32 c = 0; c < kCategories; c++) out.by[c] += double(step->by[c]);
  }
  auto count = double(out.steps);
  out.ticks /= count;
  for (double& ticks : out.by) ticks /= count;
  return out;
}

}  // namespace tprof::live
