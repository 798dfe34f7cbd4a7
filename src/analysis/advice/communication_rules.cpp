// Rules of advice about communication and about waiting for other ranks.
#include "analysis/advice/rule.h"

namespace tprof::rules {
namespace {

constexpr double kNotHigh = 0.20;  // RK1's threshold

// The part of the communication time that is waiting for other ranks; 0 where the trace does not show it.
double ns_waiting_for_ranks(const Facts& facts, double communication_ns) {
  i64 ns = facts.rank.wait_ns >= 0 ? facts.rank.wait_ns : facts.slow_collectives_ns;
  return std::clamp(double(ns), 0.0, communication_ns);
}

// How long activities that `keep` selects run on the busiest GPU, inside the windows, while it computes nothing.
template <class Keep>
i64 exposed_ns_of(const Facts& facts, Keep keep) {
  std::vector<Interval> kept, computing;
  for (const GpuEvent& work : facts.model.gpu) {
    if (!work.runs_on_gpu() || work.device != facts.gpu->device) continue;
    if (keep(work))
      kept.push_back({work.begin_ns, work.end_ns()});
    else if (work.kind() == Kind::kernel && facts.classes.work(work) == Work::computation)
      computing.push_back({work.begin_ns, work.end_ns()});
  }
  return ((IntervalSet(std::move(kept)) & facts.windows.time) - IntervalSet(std::move(computing))).length();
}

bool is_gradient_exchange(const Facts& facts, const GpuEvent& work) {
  return facts.exchanges[size_t(&work - facts.model.gpu.data())];
}

}  // namespace

// Accumulating over two batches halves the exchange of gradients, and so saves half of its exposed part. It shortens
// neither waiting for other ranks, which RK1 reports, nor communication of another kind.
std::optional<Match> communication(const Facts& facts) {
  auto is_it = [&](const GpuEvent& work) { return is_gradient_exchange(facts, work); };
  double ns = 0;
  for (const GpuEvent& work : facts.model.gpu)
    if (facts.gpu && work.device == facts.gpu->device && is_it(work) && facts.inside(work.begin_ns))
      ns += double(work.dur_ns);
  if (!facts.gpu) ns = facts.sum_ns(Category::communication);
  double exposed = facts.gpu ? double(exposed_ns_of(facts, is_it)) : ns;
  double waiting = ns_waiting_for_ranks(facts, ns);
  ns -= waiting;
  if (ns <= 0 || waiting > ns) return {};
  double share = std::min(1.0, facts.share(ns));
  std::string beside = ", besides " + ms(facts.windows.per_step(waiting)) + " of waiting for other ranks";
  return Match{share,
               share,
               facts.windows.per_step(std::min(exposed, ns)) / 2,
               (facts.gpu ? "Exchanges of gradients run for " : "Communication runs for ") +
                   ms(facts.windows.per_step(ns)) + " per step (" + share_text(share) + ")" +
                   (waiting > 0 ? beside : "") + ".",
               facts.gpu ? longest_gpu_work(facts, is_it)
                         : longest_ranges(facts, Where::windows, NameClass::communication_op),
               facts.trains ? "" : "Spread the model over fewer GPUs, or send less (half precision, quantised)."};
}

// Computation can hide no more communication than it lasts itself.
std::optional<Match> exposed_communication(const Facts& facts) {
  if (!facts.gpu_time || facts.gpu_time->communication_ns == 0) return {};
  auto all = double(facts.gpu_time->communication_ns), exposed = double(facts.gpu_time->exposed_communication_ns);
  double alone = double(facts.gpu_time->computation_ns) - (all - exposed);  // computation without communication
  double ns = std::min(exposed, all - ns_waiting_for_ranks(facts, all));    // computation after a wait cannot hide it
  ns = std::clamp(alone, 0.0, ns);
  double share = facts.share(ns);
  i64 of_gradients = exposed_ns_of(facts, [&](const GpuEvent& work) { return is_gradient_exchange(facts, work); });
  const char* fix =
      "Meanwhile compute what does not depend on it (the dense part of the model, the other half of the "
      "batch), and send less: half precision, equal shares.";
  return Match{share,
               share,
               facts.windows.per_step(ns),
               ms(facts.windows.per_step(exposed)) + " of communication per step is not hidden by computation; " +
                   share_text(facts.gpu_time->overlap()) + " of all communication is" +
                   (ns < exposed / 2 ? ", and at most " + ms(facts.windows.per_step(ns)) + " more can be hidden" : "") +
                   ".",
               longest_gpu_work(facts,
                                [&](const GpuEvent& work) { return facts.classes.work(work) == Work::communication; }),
               facts.trains && double(of_gradients) > exposed / 2 ? "" : fix};
}

// Waiting that computation hides is not counted as a saving. Without the traces of the other ranks, the waiting is
// estimated from collectives that took much longer than others of their kind that moved as many bytes.
std::optional<Match> waiting_for_ranks(const Facts& facts) {
  bool alone = facts.rank.wait_ns < 0;
  auto ns = double(alone ? facts.slow_collectives_ns : facts.rank.wait_ns);
  if (ns <= 0) return {};
  // With one or two steps the cause may be that ranks began to record at different times.
  bool sure = !alone || facts.windows.steps.size() > 2;
  double saving = facts.gpu_time ? std::min(ns, double(facts.gpu_time->exposed_communication_ns)) : ns;
  double share = facts.share(ns);
  Heaviest calls(facts.gpu_time ? Evidence::Kind::gpu_work : Evidence::Kind::range);
  for (u32 i = 0; facts.gpu_time && i < facts.model.gpu.size(); i++) {
    const GpuEvent& work = facts.model.gpu[i];
    if (work.runs_on_gpu() && facts.inside(work.begin_ns) && facts.classes.work(work) == Work::communication)
      calls.add(work.dur_ns, i);
  }
  for (u32 i = 0; !facts.gpu_time && i < facts.model.events.size(); i++) {
    const Event& e = facts.model.events[i];
    if (facts.inside(e.begin_ns) && facts.classes.is(e, NameClass::communication_op)) calls.add(e.dur_ns, i);
  }
  return Match{
      sure ? share : std::min(share, kNotHigh),
      share,
      facts.windows.per_step(saving),
      alone ? "Collectives take " + ms(facts.windows.per_step(ns)) + " per step (" + share_text(share) +
                  ") longer than others of their kind that move as much: most likely they wait for other ranks."
            : "In collectives this rank waits " + ms(facts.windows.per_step(ns)) + " per step (" + share_text(share) +
                  ") for other ranks" +
                  (facts.rank.for_rank.empty() ? "." : ", most of it for " + facts.rank.for_rank + "."),
      calls.take(),
      alone ? "Record all ranks and read them together (tprof advise DIRECTORY): that shows which ranks are late."
            : ""};
}

}  // namespace tprof::rules
