#include "report/loader_tables.h"

#include "analysis/time/loader_verdict.h"
#include "report/columns.h"

namespace tprof {
namespace {

struct Row {
  const LoaderUse& loader;
  const WorkerUse& worker;
};

std::string title_of(const LoaderUse& use) { return "DataLoader " + std::to_string(use.loader); }

std::vector<std::string> notes_of(const LoaderUse& use) {
  std::vector<std::string> out;
  if (use.draws)
    out.push_back(title_of(use) + ": the program waited " + time_text(use.wait_ns / i64(use.draws)) + " for each of " +
                  std::to_string(use.draws) + (use.draws == 1 ? " batch, " : " batches, ") +
                  printed("%.1f", 100 * use.wait_share()) + "% of the time of its steps. " + reason_of(use));
  if (use.workers.size() < use.of)
    out.push_back(title_of(use) + ": nothing is known of " + std::to_string(use.of - use.workers.size()) + " of its " +
                  std::to_string(use.of) + " workers: they did not end or begin anything in this time");
  u64 killed = 0;
  for (const WorkerUse& w : use.workers) killed += w.killed;
  if (killed)
    out.push_back(title_of(use) + ": " + std::to_string(killed) + (killed == 1 ? " worker was" : " workers were") +
                  " killed; what such a worker did last counts as if it went on to the end");
  return out;
}

}  // namespace

Table loaders_table(const std::vector<LoaderUse>& uses) {
  std::vector<Row> rows;
  for (const LoaderUse& use : uses)
    for (const WorkerUse& worker : use.workers) rows.push_back({use, worker});
  Columns<Row> c;
  auto share = [](i64 WorkerUse::*what) {
    return [what](auto& r) { return percent_of(r.worker.*what, r.loader.time_ns); };
  };
  auto of_batch = [](i64 WorkerUse::*what) {
    return [what](auto& r) { return mean(r.worker.*what, r.worker.batches); };
  };
  c.add("loader", "Loader", Unit::count, 0, [](auto& r) { return i64(r.loader.loader); }).tells_apart = true;
  c.add("worker_id", "Worker", Unit::count, 0, [](auto& r) { return i64(r.worker.id); }).tells_apart = true;
  c.add("batches", "Batches", Unit::count, 0, [](auto& r) { return i64(r.worker.batches); });
  c.add("fetch", "Fetch", Unit::time, 0, of_batch(&WorkerUse::fetch_ns));
  c.add("collate", "of it collate_fn", Unit::time, 3, of_batch(&WorkerUse::collate_ns));
  c.add("cpu", "CPU", Unit::time, 4, of_batch(&WorkerUse::cpu_ns));
  c.add("longest", "Longest", Unit::time, 2,
        [](auto& r) { return r.worker.batches ? Value(r.worker.longest_ns) : Value(); });
  c.add("send", "Send", Unit::time, 1, [](auto& r) { return mean(r.worker.send_ns, r.worker.sends); });
  c.add("fetching_percent", "Fetching", Unit::percent, 0, share(&WorkerUse::fetching_ns));
  c.add("sending_percent", "Sending", Unit::percent, 1, share(&WorkerUse::sending_ns));
  c.add("waiting_percent", "No work", Unit::percent, 0, share(&WorkerUse::waiting_ns));
  c.add("starting_percent", "Not running", Unit::percent, 2, share(&WorkerUse::starting_ns));
  c.add("processes", "Processes", Unit::count, 5, [](auto& r) { return i64(r.worker.processes); });
  c.add("pid", "Pid", Unit::count, kDataOnly, [](auto& r) { return i64(r.worker.pid); });
  Table out = c.table("DataLoader workers", rows);
  for (const LoaderUse& use : uses)
    for (std::string& note : notes_of(use)) out.footer.push_back(std::move(note));
  if (uses.empty()) out.footer.push_back("no DataLoader with worker processes was recorded");
  return out;
}

Table loader_waits_table(const std::vector<LoaderUse>& uses) {
  Columns<LoaderUse> c;
  c.add("loader", "Loader", Unit::count, 0, [](auto& r) { return i64(r.loader); }).tells_apart = true;
  c.add("workers", "Workers", Unit::count, 0, [](auto& r) { return i64(r.of); });
  c.add("draws", "Batches", Unit::count, 0, [](auto& r) { return i64(r.draws); });
  c.add("draw_wait", "Wait for one", Unit::time, 0, [](auto& r) { return mean(r.wait_ns, r.draws); });
  c.add("between", "Time between", Unit::time, 3, [](auto& r) { return mean(r.time_ns - r.wait_ns, r.draws); });
  c.add("wait_percent", "Wait", Unit::percent, 0, [](auto& r) { return percent_of(r.wait_ns, r.time_ns); });
  auto part = [](LoaderWait w) { return [w](auto& r) { return percent_of(r.part(w), r.wait_ns); }; };
  c.add("all_fetch_percent", "All fetch", Unit::percent, 1, part(LoaderWait::all_fetch));
  c.add("some_fetch_percent", "Some fetch", Unit::percent, 1, part(LoaderWait::some_fetch));
  c.add("send_percent", "Sending", Unit::percent, 1, part(LoaderWait::sending));
  c.add("start_percent", "Starting", Unit::percent, 2, part(LoaderWait::starting));
  c.add("ready_percent", "Nothing to do", Unit::percent, 2, part(LoaderWait::ready));
  c.add("verdict", "Verdict", Unit::text, 0, [](auto& r) { return word_of(r.verdict); });
  c.add("needed", "Workers needed", Unit::count, 4, [](auto& r) { return r.needed ? Value(i64(r.needed)) : Value(); });
  return c.table("The program's wait for DataLoaders", uses);
}

}  // namespace tprof
