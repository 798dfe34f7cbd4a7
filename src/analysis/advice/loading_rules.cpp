// Rules of advice about the DataLoader.
#include "analysis/advice/loader_starts.h"
#include "analysis/advice/rule.h"
#include "analysis/time/loader_verdict.h"

namespace tprof::rules {
namespace {

double loading_ns(const Facts& facts) { return facts.sum_ns(Category::data_loading); }

// Where nothing is known of the workers, names no number of them: it depends on what they do, and on the machine's
// CPUs.
std::string loader_fix(const Facts& facts) {
  const LoaderUse* use = most_awaited(facts.overview.loaders);
  if (std::string remedy = use ? remedy_of(*use) : ""; !remedy.empty()) return remedy;
  std::string pinned = facts.gpu ? ", pin_memory=True" : "";
  return facts.classes.any(NameClass::single_process_loader)
             ? "Load in the background: DataLoader(num_workers=2 or more, as long as cores are free" + pinned + ")."
             : "Make samples cheaper to load; more workers, as long as cores are free; a larger prefetch_factor" +
                   pinned + ".";
}

// Of the loader for which the program waits longest.
std::string why_workers(const Facts& facts) {
  const LoaderUse* use = most_awaited(facts.overview.loaders);
  return use && use->wait_share() > 0.05 ? " " + reason_of(*use) : "";
}

}  // namespace

// The time in which nothing but loading happens. Workers load while the rest of the step runs, so a step takes the
// longer of the two; two workers halve the loading if there are cores for them. Steps in which workers start do not
// count: that time is not typical of a step, and DL3 reports it.
std::optional<Match> data_loading(const Facts& facts) {
  if (!facts.classes.any(NameClass::data_loading)) return {};
  double ns = facts.windows.per_step(loading_ns(facts)), share = facts.share(loading_ns(facts)), saved = ns;
  double step_ns = facts.step_ns();
  std::vector<bool> starts = steps_with_loader_start(facts);
  double usual_us = 0, usual_loading_us = 0;
  size_t usual = 0;
  for (size_t s = 0; s < starts.size() && starts.size() == facts.overview.steps.size(); s++) {
    if (starts[s]) continue;
    usual++;
    usual_us += facts.overview.steps[s].us;
    usual_loading_us += facts.overview.steps[s].by[u32(Category::data_loading)];
  }
  bool only_starts = !usual && facts.windows.has_steps;
  if (only_starts && !facts.classes.any(NameClass::single_process_loader)) return {};
  if (usual && usual < starts.size() && usual_us > 0) {
    share = usual_loading_us / usual_us;
    ns = usual_loading_us * 1000 / double(usual);
    step_ns = usual_us * 1000 / double(usual);
    saved = facts.windows.per_step(usual_loading_us * 1000);  // steps in which workers start save nothing
  }
  double rest = std::max(0.0, step_ns - ns);
  return Match{
      share,
      share,
      facts.classes.any(NameClass::single_process_loader) ? std::min(saved, std::max(rest, saved / 2)) : saved,
      "The DataLoader takes " + ms(ns) + " of a step of " + ms(step_ns) + " (" + share_text(share) + ")" +
          (facts.classes.any(NameClass::single_process_loader)
               ? ", in the training process itself (num_workers=0); workers load while the rest of the step runs."
               : "." + why_workers(facts)),
      longest_ranges(facts, Where::windows, NameClass::data_loading),
      loader_fix(facts)};
}

// Silent where DL1 reports the loading already.
std::optional<Match> synchronous_loader(const Facts& facts) {
  if (!facts.classes.any(NameClass::single_process_loader) || facts.share(loading_ns(facts)) > 0.05) return {};
  std::vector<Interval> ranges;
  for (const Event& e : facts.model.events)
    if (facts.classes.is(e, NameClass::single_process_loader)) ranges.push_back({e.begin_ns, e.end_ns()});
  i64 ns = (IntervalSet(std::move(ranges)) & facts.windows.time).length();
  double share = facts.share(double(ns));
  return Match{share,
               share,
               facts.windows.per_step(std::min(double(ns), loading_ns(facts))),
               "Loading a batch keeps the training process busy for " + ms(facts.windows.per_step(ns)) + " per step.",
               longest_ranges(facts, Where::windows, NameClass::single_process_loader),
               loader_fix(facts)};
}

// No batch is computed between the draw that finds a loader exhausted and the next one. There a new iterator draws a
// seed for its workers, besides the seed of a random order, and forks them; the next draw waits until they have
// started. An iterator that keeps its workers does neither.
std::optional<Match> restarted_workers(const Facts& facts) {
  Cost cost(facts);
  Heaviest first(Evidence::Kind::range);
  u64 restarts = 0;
  for (const LoaderStart& start : loader_starts(facts)) {
    if (start.first || !facts.inside(facts.model.events[start.draw].begin_ns)) continue;
    restarts++;
    cost.time(start.begin_ns, start.end_ns - start.usual_ns);
    first.add(facts.model.events[start.draw].dur_ns, start.draw);
  }
  if (!restarts) return {};
  double share = facts.share(double(cost.ns()));
  return Match{share, share, facts.windows.per_step(cost.ns()),
               std::to_string(restarts) + (restarts == 1 ? " time" : " times") +
                   " the loader's processes are restarted before an epoch; with their first batch that takes " +
                   ms(double(cost.ns()) / double(restarts)) + " each time.",
               first.take()};
}

}  // namespace tprof::rules
