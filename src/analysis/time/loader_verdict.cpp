#include "analysis/time/loader_verdict.h"

#include <algorithm>
#include <cmath>

#include "analysis/basis/printed.h"

namespace tprof {
namespace {

constexpr double kHardly = 0.05;  // of the time, DL1's threshold
constexpr u64 kLeastDraws = 2, kLeastBatches = 2;
constexpr double kSeenLeast = 0.5;  // of the workers
constexpr double kMostly = 0.5;     // of the program's wait
constexpr double kBusy = 0.75;      // of the workers fetch while the program waits: each is needed
constexpr double kSlower = 1.5;     // times as long as others

// A worker that fetches while another one has nothing to do, and takes longer than others.
bool find_straggler(LoaderUse& use) {
  i64 some = use.part(LoaderWait::some_fetch);
  for (const WorkerUse& w : use.workers) {
    u64 others = use.batches - w.batches;
    if (!w.batches || !others || double(w.awaited_ns) < kMostly * double(some)) continue;
    double mean = double(w.fetch_ns) / double(w.batches);
    double times = mean * double(others) / std::max(1.0, double(use.fetch_ns - w.fetch_ns));
    if (times < kSlower) continue;
    use.slow_worker = w.id;
    use.slow_times = times;
    return true;
  }
  return false;
}

std::string ms(double ns) { return printed("%.2f ms", ns / 1e6); }
std::string percent(i64 part, i64 whole) {
  return printed("%.0f %%", whole > 0 ? 100.0 * double(part) / double(whole) : 0);
}

std::string workers_text(u64 n) { return std::to_string(n) + (n == 1 ? " worker" : " workers"); }

std::string busy_text(const LoaderUse& use) {
  std::string out = "While the program waits, " + printed("%.1f", use.fetching) + " of " + workers_text(use.of) +
                    (use.of == 1 ? " is" : " are") + " fetching; a batch takes a worker " + ms(use.mean_fetch_ns());
  return out + " and the program uses one every " + ms(use.own_ns());
}

}  // namespace

void judge(LoaderUse& use, double cpus) {
  // Workers start once, or once for each epoch: what else the program waits for counts first.
  i64 starting = use.part(LoaderWait::starting);
  auto hardly = [&](i64 ns) { return double(ns) < kHardly * double(use.time_ns - starting); };
  auto mostly = [&](i64 ns) { return double(ns) >= kMostly * double(use.wait_ns - starting); };
  u64 seen = use.workers.size();
  use.needed = 0;
  if (use.batches && use.own_ns() > 0) use.needed = u64(std::max(1.0, std::ceil(use.mean_fetch_ns() / use.own_ns())));
  if (use.wait_share() < kHardly)
    use.verdict = use.draws ? LoaderVerdict::keeps_up : LoaderVerdict::unknown;
  else if (use.draws < kLeastDraws || use.batches < kLeastBatches || double(seen) < kSeenLeast * double(use.of))
    use.verdict = LoaderVerdict::unknown;
  else if (hardly(use.wait_ns - starting))
    use.verdict = LoaderVerdict::starting;
  else if (mostly(use.part(LoaderWait::sending)))
    use.verdict = LoaderVerdict::sending;
  else if (mostly(use.part(LoaderWait::ready)))  // __next__ itself takes some time, above all on a busy machine
    use.verdict = hardly(use.part(LoaderWait::ready)) ? LoaderVerdict::keeps_up : LoaderVerdict::not_taken;
  else if (!mostly(use.part(LoaderWait::all_fetch) + use.part(LoaderWait::some_fetch)))
    use.verdict = LoaderVerdict::unknown;
  else if (use.fetching >= kBusy * double(seen))
    use.verdict = use.cpus_needed() > cpus ? LoaderVerdict::too_slow : LoaderVerdict::too_few;  // too_few for NaN
  else
    use.verdict = find_straggler(use) ? LoaderVerdict::straggler : LoaderVerdict::uneven;
  if (use.verdict != LoaderVerdict::too_few && use.verdict != LoaderVerdict::too_slow) use.needed = 0;
}

std::string reason_of(const LoaderUse& use) {
  auto of_wait = [&](LoaderWait w) { return percent(use.part(w), use.wait_ns); };
  switch (use.verdict) {
    case LoaderVerdict::keeps_up:
      return use.wait_share() < kHardly
                 ? "The workers keep up: the program hardly waits for them."
                 : "The workers keep up; most of this time __next__ itself takes in the program.";
    case LoaderVerdict::unknown: {
      if (!use.of)
        return "Whether its workers are too few, too slow or blocked is not known: nothing is known of them.";
      return "Whether its workers are too few, too slow or blocked is not known: " + std::to_string(use.batches) +
             (use.batches == 1 ? " batch" : " batches") + " of " + std::to_string(use.workers.size()) + " of " +
             workers_text(use.of) + " were seen, which is not enough evidence.";
    }
    case LoaderVerdict::starting:
      return "Its workers are starting during " + of_wait(LoaderWait::starting) + " of the program's wait.";
    case LoaderVerdict::too_few: return "Too few workers. " + busy_text(use) + ".";
    case LoaderVerdict::too_slow:
      return "The workers are too slow. " + busy_text(use) + ". That takes " + workers_text(use.needed) +
             ", which with the program would use " + printed("%.1f", use.cpus_needed()) + " CPUs: more than there are.";
    case LoaderVerdict::straggler:
      return "Worker " + std::to_string(use.slow_worker) + " is slower than the others: its batches take " +
             printed("%.1f", use.slow_times) + " times as long, and others have nothing to do while the program waits.";
    case LoaderVerdict::uneven:
      return "Single batches take much longer than others: up to " + ms(double(use.longest_ns)) + ", " +
             ms(use.mean_fetch_ns()) + " on average; while the program waits, only " + printed("%.1f", use.fetching) +
             " of " + workers_text(use.of) + " are fetching.";
    case LoaderVerdict::sending:
      return "The workers are blocked: during " + of_wait(LoaderWait::sending) +
             " of the program's wait no worker fetches, and a batch is being sent to it.";
    case LoaderVerdict::not_taken:
      return "The workers are blocked: during " + of_wait(LoaderWait::ready) +
             " of the program's wait they have nothing to do, since the program has not received what they sent.";
  }
  return "";
}

std::string remedy_of(const LoaderUse& use) {
  switch (use.verdict) {
    case LoaderVerdict::too_few:
      return "Use num_workers=" + std::to_string(std::max<u64>(use.needed, use.of + 1)) + " (now " +
             std::to_string(use.of) + "), as long as cores are free, or make samples cheaper to load.";
    case LoaderVerdict::too_slow:
      return "Make samples cheaper to load (decode less, cache, store them prepared); more workers than CPUs do not "
             "help.";
    case LoaderVerdict::straggler:
      return "Find out why: what its samples have in common, what else runs on its CPU. Since torch 2.6, "
             "in_order=False lets batches of other workers overtake.";
    case LoaderVerdict::uneven:
      return "Even out what a batch costs, or hide it: a larger prefetch_factor, or (since torch 2.6) in_order=False.";
    case LoaderVerdict::sending:
      return "Return tensors from collate_fn, which are shared and not copied through a pipe, and fewer Python "
             "objects.";
    case LoaderVerdict::not_taken:
      return "Look at what receives batches in the program: its pin_memory thread, unpickling, threads that hold the "
             "GIL.";
    case LoaderVerdict::starting: return "Keep the workers for the next epochs: DataLoader(persistent_workers=True).";
    default: return "";
  }
}

}  // namespace tprof
