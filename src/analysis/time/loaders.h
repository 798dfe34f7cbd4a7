// The workers of DataLoaders beside the program's wait for them: what each did, what all did while the program waited,
// and what that means.
#pragma once
#include <vector>

#include "analysis/basis/windows.h"

namespace tprof {

// One worker, by its number: a loader may have started it several times.
struct WorkerUse {
  i32 id = 0;
  u64 processes = 0, killed = 0;
  u32 pid = 0;  // of the last one
  // Batches whose fetch ended in the span; times of whole fetches.
  u64 batches = 0;
  i64 fetch_ns = 0, longest_ns = 0, collate_ns = 0, cpu_ns = 0;
  u64 sends = 0;
  i64 send_ns = 0;
  // How the time that counts divides; a batch is sent while the next one may be fetched, which is counted as fetching.
  i64 fetching_ns = 0, sending_ns = 0, waiting_ns = 0, starting_ns = 0;
  i64 awaited_ns = 0;  // it fetched while the program waited and another worker did nothing
};

// What the workers did while the program waited for a batch. Each moment counts for the first that holds: all were
// fetching; some were; a batch was being sent; some were not running (yet); they had nothing to do.
enum class LoaderWait : u8 { all_fetch, some_fetch, sending, starting, ready, count };

// LOADER_VERDICT(name, "as tables show it")
//   keeps_up   the program hardly waits
//   unknown    not enough evidence
//   starting   workers start while it waits
//   too_few    more workers would do
//   too_slow   and there are not enough CPUs for them
//   straggler  one worker is slower than the others
//   uneven     single batches take much longer than others
//   sending    blocked: batches are ready and are being sent
//   not_taken  blocked: batches are sent, and the program has not received them
#define TPROF_LOADER_VERDICTS(LOADER_VERDICT) \
  LOADER_VERDICT(keeps_up, "keeps up")        \
  LOADER_VERDICT(unknown, "not known")        \
  LOADER_VERDICT(starting, "starting")        \
  LOADER_VERDICT(too_few, "too few")          \
  LOADER_VERDICT(too_slow, "too slow")        \
  LOADER_VERDICT(straggler, "one is slow")    \
  LOADER_VERDICT(uneven, "uneven batches")    \
  LOADER_VERDICT(sending, "blocked: sending") \
  LOADER_VERDICT(not_taken, "blocked: not received")

enum class LoaderVerdict : u8 {
#define LOADER_VERDICT(name, word) name,
  TPROF_LOADER_VERDICTS(LOADER_VERDICT)
#undef LOADER_VERDICT
};
const char* word_of(LoaderVerdict verdict);

struct LoaderUse {
  u32 loader = 0;
  u32 of = 0;                      // workers; 0: nothing is known of any
  std::vector<WorkerUse> workers;  // those of which something is known, by id
  i64 time_ns = 0;                 // that counts: the steps
  u64 draws = 0;
  i64 wait_ns = 0;
  i64 waits[size_t(LoaderWait::count)] = {};  // its parts, by LoaderWait
  double fetching = 0;                        // workers that fetch while the program waits and they are running, mean

  u64 batches = 0;
  i64 fetch_ns = 0, longest_ns = 0, cpu_ns = 0;
  LoaderVerdict verdict = LoaderVerdict::unknown;
  u64 needed = 0;         // too_few, too_slow: workers with which the program would hardly wait
  i32 slow_worker = -1;   // straggler
  double slow_times = 0;  // how many times as long as the others' mean its fetches take

  i64 part(LoaderWait w) const { return waits[size_t(w)]; }
  double wait_share() const { return time_ns > 0 ? double(wait_ns) / double(time_ns) : 0; }
  double mean_fetch_ns() const { return batches ? double(fetch_ns) / double(batches) : 0; }
  // CPUs that `needed` workers would use, and the program beside them.
  double cpus_needed() const { return fetch_ns ? 1 + double(needed) * double(cpu_ns) / double(fetch_ns) : 0; }
  // What the program does between two draws.
  double own_ns() const { return draws ? double(time_ns - wait_ns) / double(draws) : 0; }
};

// The loaders with workers, in order of the Model's numbers.
std::vector<LoaderUse> loader_uses(const Model& model, const Windows& windows);

// The loader for which the program waits longest; nullptr: none.
const LoaderUse* most_awaited(const std::vector<LoaderUse>& uses);

}  // namespace tprof
