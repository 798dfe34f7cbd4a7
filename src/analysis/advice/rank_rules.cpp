// Rules of advice about what only the traces of all ranks of a job tell.
#include "analysis/advice/rule.h"

namespace tprof::rules {
namespace {

constexpr double kNotHigh = 0.20;  // RK1's threshold

}  // namespace

// What computation hides of the waiting is not saved. Without the traces of the other ranks, collectives that took much
// longer than another one of their kind that moved as much tell of it.
std::optional<Match> waiting_for_ranks(const Facts& facts) {
  bool alone = facts.rank.wait_ns < 0;
  auto ns = double(alone ? facts.slow_collectives_ns : facts.rank.wait_ns);
  if (ns <= 0) return {};
  // In one or two steps it may be that ranks began to record at different times.
  bool sure = !alone || facts.windows.steps.size() > 2;
  double saving = facts.gpu_time ? std::min(ns, double(facts.gpu_time->exposed_communication_ns)) : ns;
  double share = facts.share(ns);
  Heaviest calls(facts.gpu_time ? Evidence::Of::work : Evidence::Of::range);
  for (u32 i = 0; facts.gpu_time && i < facts.model.gpu.size(); i++) {
    const GpuEvent& work = facts.model.gpu[i];
    if (work.runs_on_gpu() && facts.inside(work.begin_ns) && facts.words.work(work) == Work::communication)
      calls.add(work.dur_ns, i);
  }
  for (u32 i = 0; !facts.gpu_time && i < facts.model.events.size(); i++) {
    const Event& e = facts.model.events[i];
    if (facts.inside(e.begin_ns) && facts.words.is(e, Word::communication_op)) calls.add(e.dur_ns, i);
  }
  return Match{sure ? share : std::min(share, kNotHigh),
               share,
               facts.windows.per_step(saving),
               alone
                   ? "Collectives take " + ms(facts.windows.per_step(ns)) + " per step (" + percent(share) +
                         ") longer than others of their kind that move as much: most likely they wait for other ranks."
                   : "In collectives this rank waits " + ms(facts.windows.per_step(ns)) + " per step (" +
                         percent(share) + ") for other ranks" +
                         (facts.rank.for_rank.empty() ? "." : ", most of it for " + facts.rank.for_rank + "."),
               calls.take(),
               alone ? "Record all ranks and read them together (tprof advise DIRECTORY): they tell for whom." : ""};
}

}  // namespace tprof::rules
