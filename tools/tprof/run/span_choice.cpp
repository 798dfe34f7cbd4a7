#include "run/span_choice.h"

#include <algorithm>
#include <map>

namespace tprof {
namespace {

// Compares the numbers of steps, since the windows of a schedule differ in time but not in steps.
bool is_longer(const SpanOfRun& a, const SpanOfRun& b) {
  if (a.steps || b.steps) return a.steps > b.steps;
  return a.time.end_ns - a.time.begin_ns > b.time.end_ns - b.time.begin_ns;
}

SpanOfRun longest_of(const std::vector<SpanOfRun>& spans) {
  SpanOfRun longest = spans[0];
  for (const SpanOfRun& span : spans)
    if (!is_longer(longest, span)) longest = span;
  for (const SpanOfRun& span : spans) {
    longest.alone_longest &= span.trace == longest.trace || is_longer(longest, span);
    if (lies_inside(span.time, longest.time)) longest.inside.push_back(span.time.span);
  }
  return longest;
}

using Processes = std::map<std::string, std::vector<SpanOfRun>>;

// The longest span of each process that has one of at most so many events. Where a process made steps, a rest without
// any is none.
std::vector<SpanOfRun> longest_of_each(Processes processes, u64 most_events) {
  std::vector<SpanOfRun> out;
  for (auto& [worker, spans] : processes) {
    bool any = std::any_of(spans.begin(), spans.end(), [](const SpanOfRun& span) { return span.steps > 0; });
    std::erase_if(spans, [&](const SpanOfRun& span) { return span.events > most_events || (any && !span.steps); });
    if (!spans.empty()) out.push_back(longest_of(spans));
  }
  return out;
}

}  // namespace

SpanChoice choose_spans(const std::vector<SpanOfRun>& all, u64 most_events) {
  Processes processes;
  for (const SpanOfRun& span : all) processes[span.time.worker].push_back(span);
  std::vector<SpanOfRun> longest = longest_of_each(processes, ~u64(0));
  // What ran before the training counts only if there is nothing else.
  auto before = [](const SpanOfRun& span) { return span.before_training; };
  if (!std::all_of(longest.begin(), longest.end(), before)) {
    for (const SpanOfRun& span : longest)
      if (before(span)) processes.erase(span.time.worker);
    std::erase_if(longest, before);
  }
  size_t count = longest.size();
  if (count == 0) return {};
  u64 events = 0;
  for (const SpanOfRun& span : longest) events += span.events;
  if (events <= most_events) return {Covers::whole, longest, count};
  std::vector<SpanOfRun> fitting = longest_of_each(processes, most_events / count);
  if (fitting.size() == count) return {Covers::that_fit, fitting, count};
  auto slowest = std::max_element(longest.begin(), longest.end(),
                                  [](const auto& a, const auto& b) { return a.step_ns < b.step_ns; });
  const std::string& worker = slowest->time.worker;
  fitting = longest_of_each({{worker, processes[worker]}}, most_events);
  if (!fitting.empty()) return {Covers::one_process, fitting, count};
  return {Covers::steps_only, {*slowest}, count};
}

}  // namespace tprof
