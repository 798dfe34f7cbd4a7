#include "analysis/time/loaders.h"

#include <algorithm>
#include <map>

#include "analysis/time/loader_verdict.h"
#include "model/machine.h"

namespace tprof {
namespace {

// The times of one worker.
struct WorkerTimes {
  std::vector<Interval> fetch, send, wait;
};

struct LoaderTimes {
  std::vector<Interval> draws;
  std::map<i32, WorkerTimes> workers;
  u64 drawn = 0;
};

void use_times(LoaderUse& use, LoaderTimes& times, const IntervalSet& time) {
  IntervalSet waits = IntervalSet(std::move(times.draws)) & time;
  IntervalSet all = waits, any, sending, absent;
  std::vector<IntervalSet> fetches;
  double fetching_ns = 0;
  for (WorkerUse& w : use.workers) {
    WorkerTimes& t = times.workers[w.id];
    IntervalSet fetch = IntervalSet(std::move(t.fetch)) & time;
    IntervalSet send = (IntervalSet(std::move(t.send)) & time) - fetch;
    IntervalSet wait = (IntervalSet(std::move(t.wait)) & time) - fetch - send;
    IntervalSet missing = time - fetch - send - wait;
    w.fetching_ns = fetch.length();
    w.sending_ns = send.length();
    w.waiting_ns = wait.length();
    w.starting_ns = missing.length();
    IntervalSet during = fetch & waits;
    fetching_ns += double(during.length());
    all = all & fetch;
    any = any | during;
    sending = sending | (send & waits);
    absent = absent | (missing & waits);
    fetches.push_back(std::move(during));
  }
  IntervalSet some = any - all, rest = waits - any;
  for (size_t i = 0; i < fetches.size(); i++) use.workers[i].awaited_ns = (fetches[i] & some).length();
  use.time_ns = time.length();
  use.wait_ns = waits.length();
  auto part = [&](LoaderWait w) -> i64& { return use.waits[size_t(w)]; };
  part(LoaderWait::all_fetch) = all.length();
  part(LoaderWait::some_fetch) = some.length();
  part(LoaderWait::sending) = (rest & sending).length();
  part(LoaderWait::starting) = ((rest - sending) & absent).length();
  part(LoaderWait::ready) = (rest - sending - absent).length();
  i64 running_ns = use.wait_ns - part(LoaderWait::starting);
  use.fetching = running_ns ? fetching_ns / double(running_ns) : 0;
}

// Adds what counts once for each event, whatever part of it lies in the steps. A fetch that did not come to collate_fn
// made no batch: a dataset was exhausted, or raised an exception.
void count(const LoaderEvent& e, WorkerUse& w) {
  if (e.whole_ns < 0) return;
  if (e.part == LoaderPart::fetch && e.collate_ns > 0) {
    w.batches++;
    w.fetch_ns += e.whole_ns;
    w.longest_ns = std::max(w.longest_ns, e.whole_ns);
    w.collate_ns += e.collate_ns;
    w.cpu_ns += e.cpu_ns;
  } else if (e.part == LoaderPart::send) {
    w.sends++;
    w.send_ns += e.whole_ns;
  }
}

}  // namespace

const char* word_of(LoaderVerdict verdict) {
  constexpr const char* kWords[] = {
#define LOADER_VERDICT(name, word) word,
      TPROF_LOADER_VERDICTS(LOADER_VERDICT)
#undef LOADER_VERDICT
  };
  return kWords[u8(verdict)];
}

std::vector<LoaderUse> loader_uses(const Model& model, const Windows& windows) {
  std::map<u32, LoaderUse> uses;
  std::map<u32, LoaderTimes> times;
  std::map<u32, std::map<i32, WorkerUse>> workers;
  for (const LoaderWorker& w : model.loader.workers) {
    WorkerUse& use = workers[w.loader][w.id];
    use.id = w.id;
    use.processes++;
    use.killed += w.killed;
    use.pid = w.pid;
    uses[w.loader].of = std::max(uses[w.loader].of, w.of);
  }
  for (const LoaderEvent& e : model.loader.events) {
    LoaderTimes& t = times[e.loader];
    Interval span{e.begin_ns, e.end_ns()};
    if (e.part == LoaderPart::draw) {
      t.draws.push_back(span);
      t.drawn += windows.holds(e.begin_ns);
      uses[e.loader].loader = e.loader;
      continue;
    }
    i32 id = model.loader.workers[e.worker].id;
    WorkerTimes& w = t.workers[id];
    if (e.part == LoaderPart::fetch) w.fetch.push_back(span);
    if (e.part == LoaderPart::send) w.send.push_back(span);
    if (e.part == LoaderPart::wait) w.wait.push_back(span);
    count(e, workers[e.loader][id]);
  }
  double cpus = machine_figures(model.info)[u32(MachineFigure::cpus)];
  std::vector<LoaderUse> out;
  for (auto& [number, use] : uses) {
    use.loader = number;
    for (const auto& [id, w] : workers[number]) {
      use.workers.push_back(w);
      use.batches += w.batches;
      use.fetch_ns += w.fetch_ns;
      use.cpu_ns += w.cpu_ns;
      use.longest_ns = std::max(use.longest_ns, w.longest_ns);
    }
    use.draws = times[number].drawn;
    use_times(use, times[number], windows.time);
    judge(use, cpus);
    out.push_back(std::move(use));
  }
  return out;
}

const LoaderUse* most_awaited(const std::vector<LoaderUse>& uses) {
  const LoaderUse* out = nullptr;
  for (const LoaderUse& use : uses)
    if (use.draws && (!out || use.wait_ns > out->wait_ns)) out = &use;
  return out;
}

}  // namespace tprof
