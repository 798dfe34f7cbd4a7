#include "analysis/basis/steps.h"

#include <algorithm>

namespace tprof {
namespace {

StepSpan everything(const Model& model) {
  Interval all{INT64_MAX, INT64_MIN};
  auto widen = [&](i64 begin, i64 end) { all = {std::min(all.begin, begin), std::max(all.end, end)}; };
  for (const Event& e : model.events) widen(e.begin_ns, e.end_ns());
  for (const CallEvent& c : model.calls) widen(c.begin_ns, c.end_ns());
  StepSpan step{"0", all};
  for (const GpuEvent& e : model.gpu) {
    if (!e.runs_on_gpu()) continue;
    step.activities++;
    widen(e.begin_ns, e.end_ns());
  }
  step.time = all.begin <= all.end ? all : Interval{0, 0};
  return step;
}

// GPU work launched in a step or stretch on the host: how many activities, and when the last of them ends.
struct Launched {
  u64 activities = 0;
  i64 end_ns = INT64_MIN;

  void add(i64 end) {
    activities++;
    end_ns = std::max(end_ns, end);
  }
};

// The index of the step, or stretch, around a point in time; the number of them all if there is none.
template <class Steps>
size_t index_at(const Steps& steps, i64 ns) {
  auto at = std::partition_point(steps.begin(), steps.end(), [&](const auto& s) { return s.begin_ns <= ns; });
  while (at != steps.begin()) {
    --at;
    if (ns < at->end_ns) return size_t(at - steps.begin());
    if (at != steps.begin() && at[-1].end_ns <= ns) break;
  }
  return steps.size();
}

void mark_incomplete(std::vector<StepSpan>& steps) {
  size_t last = steps.size();
  while (last > 0 && steps[last - 1].activities == 0) last--;
  if (last == 0) return;
  for (size_t i = last; i < steps.size(); i++) steps[i].whole = false;
  size_t before = last - 1;  // without steps that hold an evaluation, which launches its own work
  while (before > 0 && steps[before - 1].evaluates) before--;
  if (before > 0 && double(steps[before - 1].activities) * 0.8 > double(steps[last - 1].activities))
    steps[last - 1].whole = false;
}

// How well the time of a step tells that of an iteration.
int worth_of(const StepSpan& step) {
  if (!step.whole) return 0;
  if (step.cut == StepCut::last_update) return 2;
  return is_cut_short(step.cut) ? 1 : step.evaluates ? 3 : 4;
}

void choose_those_that_count(std::vector<StepSpan>& steps) {
  int best = 0;
  for (const StepSpan& s : steps) best = std::max(best, worth_of(s));
  for (StepSpan& s : steps) s.counts = worth_of(s) == best;
}

}  // namespace

const char* category_text(Category category) {
  static constexpr const char* kTexts[] = {
#define CATEGORY(name, text) text,
      TPROF_CATEGORIES(CATEGORY)
#undef CATEGORY
  };
  return kTexts[u32(category)];
}

std::vector<StepSpan> step_spans(const Model& model) {
  if (model.steps.empty()) return {everything(model)};
  std::vector<Launched> launched(model.steps.size()), evaluated(model.stretches.size());
  i64 before = model.steps[0].begin_ns;  // the end of GPU work that was launched before the first step
  for (const GpuEvent& e : model.gpu) {
    if (!e.runs_on_gpu() || e.call == kNone) continue;
    i64 at = model.calls[e.call].begin_ns;
    size_t i = index_at(model.steps, at), k = index_at(model.stretches, at);
    if (i < launched.size())
      launched[i].add(e.end_ns());
    else if (k < evaluated.size())
      evaluated[k].add(e.end_ns());
    else if (at < model.steps[0].begin_ns)
      before = std::max(before, e.end_ns());
  }
  std::vector<StepSpan> out;
  i64 end_before = before;
  size_t k = 0;
  for (size_t i = 0; i < model.steps.size(); i++) {
    const Step& step = model.steps[i];
    for (; k < evaluated.size() && model.stretches[k].begin_ns < step.begin_ns; k++)
      end_before = std::max(end_before, evaluated[k].end_ns);
    i64 begin = std::max(end_before, step.begin_ns);
    i64 end = std::max({begin, step.end_ns, launched[i].end_ns});
    out.push_back({std::to_string(step.number), {begin, end}, launched[i].activities, true, step.evaluates, step.cut});
    end_before = end;
  }
  if (out.size() > 1) mark_incomplete(out);
  choose_those_that_count(out);
  return out;
}

std::array<IntervalSet, kCategories - 1> category_times(const Model& model, const NameClasses& classes) {
  std::vector<Interval> any[kCategories - 1];
  auto add = [&](Category c, const auto& x) { any[u32(c)].push_back({x.begin_ns, x.end_ns()}); };
  bool communicates = false;
  for (const GpuEvent& work : model.gpu) {
    if (!work.runs_on_gpu()) continue;
    bool communication = classes.work(work) == Work::communication;
    communicates |= communication;
    add(communication               ? Category::communication
        : work.kind() == Kind::copy ? Category::copy
        : work.kind() == Kind::set  ? Category::set
                                    : Category::kernel,
        work);
  }
  for (const CallEvent& call : model.calls) add(Category::runtime, call);
  for (const Event& event : model.events) {
    if (event.flags & (kEventStep | kEventPython)) continue;
    // If kernels communicate, the host's ranges only enqueue them.
    bool communication = !communicates && classes.is(event, NameClass::communication_op);
    add(classes.is(event, NameClass::data_loading) ? Category::data_loading
        : communication                            ? Category::communication
                                                   : Category::cpu,
        event);
  }
  std::array<IntervalSet, kCategories - 1> out;
  for (u32 c = 0; c < out.size(); c++) out[c] = IntervalSet(std::move(any[c]));
  return out;
}

}  // namespace tprof
