#include "analysis/breakdown.h"

#include <algorithm>

namespace tprof {
namespace {

Category category_of(const Model&, const Words& words, const GpuEvent& work) {
  if (words.work(work) == Work::communication) return Category::communication;
  return work.kind() == Kind::copy ? Category::copy : work.kind() == Kind::set ? Category::set : Category::kernel;
}

}  // namespace

const char* category_text(Category category) {
  static constexpr const char* kTexts[] = {
#define CATEGORY(name, text) text,
      TPROF_CATEGORIES(CATEGORY)
#undef CATEGORY
  };
  return kTexts[static_cast<u32>(category)];
}

i64 Times::total() const {
  i64 sum = 0;
  for (i64 x : ns) sum += x;
  return sum;
}

std::vector<Times> breakdown(const Model& model, const Words& words, const Windows& windows) {
  std::vector<Interval> any[kCategories];
  auto add = [&](Category c, const auto& x) { any[static_cast<u32>(c)].push_back({x.begin_ns, x.end_ns()}); };
  for (const GpuEvent& work : model.gpu)
    if (work.runs_on_gpu()) add(category_of(model, words, work), work);
  for (const CallEvent& call : model.calls) add(Category::runtime, call);
  for (const Event& event : model.events) {
    if (event.flags & (kEventStep | kEventPython)) continue;
    add(words.is(event, Word::data_loading)       ? Category::data_loading
        : words.is(event, Word::communication_op) ? Category::communication
                                                  : Category::cpu,
        event);
  }
  std::vector<Times> out(windows.steps.size());
  IntervalSet given;
  for (u32 c = 0; c < kCategories; c++) {
    auto category = static_cast<Category>(c);
    IntervalSet all = category == Category::other ? IntervalSet(windows.all.begin, windows.all.end)
                                                  : IntervalSet(std::move(any[c]));
    IntervalSet rest = all - given;
    for (size_t s = 0; s < out.size(); s++)
      out[s][category] = rest.length_in(windows.steps[s].begin, windows.steps[s].end);
    given = given | all;
  }
  return out;
}

Times sum_of(const std::vector<Times>& steps) {
  Times out;
  for (const Times& step : steps)
    for (u32 c = 0; c < kCategories; c++) out.ns[c] += step.ns[c];
  return out;
}

i64 median_of(std::vector<i64> values) {
  if (values.empty()) return 0;
  auto middle = values.begin() + i64(values.size() - 1) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Variability variability(const Windows& windows, const std::vector<Times>& steps) {
  Variability out;
  if (!windows.has_steps || steps.size() < 3) return out;
  out.known = true;
  std::vector<i64> lengths;
  for (const Interval& step : windows.steps) lengths.push_back(step.length());
  out.median_ns = median_of(lengths);
  out.slowest = u32(std::max_element(lengths.begin(), lengths.end()) - lengths.begin());
  out.slowest_ns = lengths[out.slowest];
  out.mean_ns = windows.all.length() / i64(steps.size());
  for (u32 c = 0; c < kCategories; c++) {
    std::vector<i64> values;
    for (const Times& step : steps) values.push_back(step.ns[c]);
    i64 grew = steps[out.slowest].ns[c] - median_of(values);
    if (grew <= out.grew_ns) continue;
    out.grew_ns = grew;
    out.grew = static_cast<Category>(c);
  }
  return out;
}

}  // namespace tprof
