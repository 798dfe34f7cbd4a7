#include "analysis/hang/reason.h"

#include <algorithm>

namespace tprof::hang {
namespace {

const Thread* main_of(const Process& process) {
  for (const Thread& t : process.threads)
    if (t.main) return &t;
  return nullptr;
}

std::string in(const Thread& t) { return t.where.empty() ? "" : " in " + t.where; }

std::string thread_text(const Thread& t) {
  return (t.main ? "the main thread" : "thread " + std::to_string(t.tid)) + in(t);
}

// Of a circle of mutexes.
Reason cycle_of(const Process& process) {
  Reason out{Verdict::deadlock, "", process.cycles[0][0]};
  for (int tid : process.cycles[0]) {
    auto known = std::find_if(process.threads.begin(), process.threads.end(), [&](auto& t) { return t.tid == tid; });
    std::string one = known == process.threads.end() ? "thread " + std::to_string(tid) : thread_text(*known);
    out.detail += (out.detail.empty() ? "" : ", ") + one + " waits for a mutex that the next one holds";
  }
  return out;
}

// Python's locks do not say who holds them. If at least two threads wait for locks and all others that run Python wait
// for threads or events, nobody can release one.
bool is_locked_up(const Process& process, Reason& out) {
  size_t locked = 0;
  for (const Thread& t : process.threads) {
    if (t.python && t.works) return false;
    if (t.wait == Wait::lock) {
      locked++;
      out.detail += (out.detail.empty() ? "" : ", and ") + thread_text(t) + " waits " + t.waits;
      out.tid = t.tid;
    } else if (t.python && t.wait != Wait::work && t.wait != Wait::other) {
      return false;
    }
  }
  out.verdict = Verdict::deadlock;
  return locked >= 2;
}

// What a process does whose program waits for it: a worker of a data loader.
Reason worker_of(const Rank& rank) {
  for (const Process& worker : rank.workers) {
    std::string name = "process " + std::to_string(worker.pid);
    const Thread* t = main_of(worker);
    std::string place = t ? in(*t) : "";
    if (worker.state == State::stopped) return {Verdict::worker, name + " is stopped" + place, 0, worker.pid};
    if (worker.state != State::alive) return {Verdict::worker, name + " has died", 0, worker.pid};
    if (!t || t->wait == Wait::work) continue;
    std::string does = t->runs || t->moved      ? " is at work"
                       : t->wait == Wait::sleep ? " sleeps"
                       : t->waits.empty()       ? " waits"
                                                : " waits " + t->waits;
    return {t->runs || t->moved ? Verdict::late : Verdict::worker, name + does + place, 0, worker.pid};
  }
  if (rank.workers.empty())
    return {Verdict::out_of_sight, "it waits for a data-loader worker, and none is seen; they start, or have died"};
  return {Verdict::worker, "none of the " + std::to_string(rank.workers.size()) + " that run here has work to do"};
}

std::string bytes_text(u64 bytes) {
  if (bytes < 1 << 20) return std::to_string(bytes >> 10) + " kB";
  return std::to_string(bytes >> 20) + " MB";
}

}  // namespace

bool moved(const Rank& rank) { return rank.now.latest_ticks != rank.before.latest_ticks; }

bool advanced(const Rank& rank) {
  auto progress = [](const Recent& recent) {
    std::vector<std::pair<size_t, i64>> out{{0, recent.step}};
    for (const RecentGroup& group : recent.groups) {
      i64 done = 0;
      for (const RecentCollective& call : group.calls) done += call.done == 1;
      out.push_back({group.calls.size(), done});
    }
    return out;
  };
  return progress(rank.now) != progress(rank.before);
}

Reason reason_of(const Rank& rank) {
  const Process& process = rank.process;
  if (process.state == State::stopped) return {Verdict::stopped, ""};
  if (process.state == State::ended) return {Verdict::ended, ""};
  if (process.state == State::absent) return {Verdict::absent, ""};
  if (process.state == State::killed)
    return {Verdict::killed, process.signal ? " by signal " + std::to_string(process.signal) : ""};
  if (!process.cycles.empty()) return cycle_of(process);
  Reason locked;
  if (is_locked_up(process, locked)) return locked;
  const Thread* t = main_of(process);
  if (process.state == State::elsewhere || !t) {
    if (moved(rank)) return {Verdict::late, ""};
    std::string why = process.why_no_stacks;
    if (why.empty()) why = process.state == State::elsewhere ? "it runs on another host" : "it has just ended";
    return {Verdict::out_of_sight, why};
  }
  if (t->wait == Wait::loader) {
    Reason worker = worker_of(rank);
    if (worker.verdict == Verdict::late) worker.detail = ": its data-loader worker " + worker.detail;
    return worker;
  }
  if (t->wait == Wait::sleep) return {Verdict::asleep, in(*t)};
  bool at_io = t->wait == Wait::io || t->wait == Wait::other || t->wait == Wait::unknown;
  if ((at_io || t->runs) && process.moved_bytes >= kMuchBytes && !moved(rank))
    return {Verdict::transfer, " " + bytes_text(process.moved_bytes) + " a second" + in(*t)};
  if (t->wait == Wait::io && t->moved) return {Verdict::transfer, in(*t)};
  if (t->runs || t->works || moved(rank) || (t->moved && t->wait == Wait::unknown)) return {Verdict::late, in(*t)};
  if (t->wait == Wait::gil)
    for (const Thread& other : process.threads)
      if (other.holds_gil)
        return {Verdict::waits, "for the GIL, which " + thread_text(other) + " holds" + in(*t), other.tid};
  // What another thread is to do for it.
  for (const Thread& other : process.threads)
    if (t->wait == Wait::other && other.python && !other.main && other.wait == Wait::sleep)
      return {Verdict::asleep, ": " + thread_text(other) + " does, and the main thread waits " + t->waits, other.tid};
  if (!t->waits.empty()) return {Verdict::waits, t->waits + in(*t)};
  if (!process.why_no_stacks.empty()) return {Verdict::out_of_sight, process.why_no_stacks};
  return {Verdict::waits, "for something" + in(*t)};
}

}  // namespace tprof::hang
