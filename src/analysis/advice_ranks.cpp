// Rules of advice about what only the traces of all ranks of a job tell.
#include "analysis/advice_rules.h"

namespace tprof::rules {

// What computation hides of the waiting is not saved.
std::optional<Match> waiting_for_ranks(const Facts& facts) {
  if (facts.rank.wait_ns <= 0) return {};
  auto ns = double(facts.rank.wait_ns);
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
  return Match{share, share, facts.windows.per_step(saving),
               "In collectives this rank waits " + ms(facts.windows.per_step(ns)) + " per step (" + percent(share) +
                   ") for other ranks" +
                   (facts.rank.for_rank.empty() ? "." : ", most of it for " + facts.rank.for_rank + "."),
               calls.take()};
}

}  // namespace tprof::rules
