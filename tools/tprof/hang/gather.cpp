#include "hang/gather.h"

#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "hang/dumps.h"
#include "hang/subjects.h"
#include "input/programs.h"
#include "input/trace_file.h"
#include "record/reader.h"

namespace tprof::hang {
namespace {

constexpr long kBetweenLooksNs = 1'000'000'000;
constexpr size_t kMostNative = 16;  // processes whose native stacks are read if nothing else tells what they do
constexpr int kMostRounds = 4;
constexpr size_t kMostRanks = 4096;
constexpr size_t kMostWorkers = 32;

std::string base_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

// "step (train.py:12)": the innermost frame that is not one of a library.
std::string where(const ThreadStack& thread) {
  const ThreadFrame* shown = nullptr;
  for (const ThreadFrame& f : thread.frames) {
    if (!f.python) continue;
    bool library = f.file.starts_with("<");
    for (const char* part : {"/site-packages/", "/dist-packages/", "/lib/python3"})
      library |= f.file.find(part) != std::string::npos;
    if (!shown || !library) shown = &f;
    if (!library) break;
  }
  if (!shown) {
    // Frames of the C library have its own paths, or its name.
    auto own = std::find_if(thread.frames.begin(), thread.frames.end(), [](const ThreadFrame& f) {
      for (const char* libc : {"sysdeps/", "nptl/", "csu/", "libc.so"})
        if (f.file.starts_with(libc)) return false;
      return !f.function.empty();
    });
    return own == thread.frames.end() ? "" : own->function;
  }
  return shown->function + " (" + base_name(shown->file) + ":" + std::to_string(shown->line) + ")";
}

void put_stacks(const ProgramStacks& stacks, const Look& before, const Look& now, Process& out) {
  out.threads.clear();
  for (const ThreadStack& t : stacks.threads) {
    Thread one;
    one.tid = t.tid;
    one.main = t.main;
    one.python = std::any_of(t.frames.begin(), t.frames.end(), [](const ThreadFrame& f) { return f.python; });
    one.runs = t.runs;
    one.moved = has_moved(before, now, t.tid);
    one.works = has_worked(before, now, t.tid);
    one.holds_gil = t.gil;
    one.wait = t.wait;
    one.waits = t.waits;
    one.where = where(t);
    out.threads.push_back(std::move(one));
  }
  out.cycles = stacks.cycles;
  out.why_no_stacks = stacks.why_not;
}

class Gatherer {
 public:
  Gatherer(const std::string& subject, const std::string& dumps, int pid) {
    read_dumps(subject, dumps);
    found_ = find_subjects(subject, !dumps_.empty(), pid);
    out_.notes.insert(out_.notes.end(), found_.notes.begin(), found_.notes.end());
    out_.job.world_size = found_.world_size;
    out_.job.cannot_tell = found_.cannot_tell;
  }

  Gathered run() {
    look(&Subject::before, &Rank::before);
    timespec pause{kBetweenLooksNs / 1'000'000'000, kBetweenLooksNs % 1'000'000'000};
    nanosleep(&pause, nullptr);
    look(&Subject::now, &Rank::now);
    for (Subject& s : subjects_) settle_state(s);
    use_dumps();
    add_absent();
    std::stable_sort(subjects_.begin(), subjects_.end(),
                     [](const Subject& a, const Subject& b) { return a.rank.number < b.rank.number; });
    bool recorded =
        std::any_of(subjects_.begin(), subjects_.end(), [](const Subject& s) { return s.rank.now.records; });
    size_t local = 0;
    for (Subject& s : subjects_) read_stacks(s, recorded || ++local > kMostNative ? Frames::python : Frames::all);
    judge();
    for (const Subject& s : subjects_)
      if (s.rank.number >= 0 && s.here && s.rank.process.state == State::alive && !s.rank.now.records) not_recorded_++;
    if (not_recorded_) note_not_recorded(recorded);
    return std::move(out_);
  }

 private:
  // --- PyTorch's flight recorder

  void read_dumps(const std::string& subject, const std::string& dumps) {
    std::vector<std::string> paths;
    std::error_code ignored;
    for (const std::string& place : {subject, dumps})
      if (std::filesystem::is_directory(place, ignored))
        for (const std::string& path : list_files(place, is_dump_name)) paths.push_back(path);
    if (!dumps.empty() && !std::filesystem::is_directory(dumps, ignored)) paths.push_back(dumps);
    for (const std::string& path : paths) try {
        Dump dump = read_dump(path);
        dumps_[dump.rank] = std::move(dump);
      } catch (const Error& e) {
        if (path == dumps) throw;
        out_.notes.push_back(e.what());
      }
  }

  // A dump from before its process began, or before any did of this job, is one of a former run.
  bool is_former(const Dump& dump) const {
    i64 oldest_ns = -1;
    for (const Subject& s : subjects_) {
      if (s.rank.number == dump.rank) return age_of(s) >= 0 && dump.age_ns > age_of(s);
      oldest_ns = std::max(oldest_ns, age_of(s));
    }
    return oldest_ns >= 0 && dump.age_ns > oldest_ns;
  }

  // What a dump says counts for a rank that is not being recorded now.
  void use_dumps() {
    if (size_t left_out = std::erase_if(dumps_, [&](const auto& one) { return is_former(one.second); }))
      out_.notes.push_back(std::to_string(left_out) +
                           " dumps of PyTorch's flight recorder are left out: they were written before this job began");
    i64 oldest_ns = 0;
    size_t used = 0;
    for (const auto& [number, dump] : dumps_) {
      auto at = std::find_if(subjects_.begin(), subjects_.end(), [&](auto& s) { return s.rank.number == number; });
      if (at == subjects_.end()) {
        at = subjects_.emplace(at);
        at->rank.number = number;
        at->rank.process.state = State::elsewhere;
        at->rank.process.why_no_stacks = "only its dump of PyTorch's flight recorder is here";
        at->here = false;
      }
      if (at->rank.now.records) continue;
      at->rank.before = at->rank.now = dump.recent;
      oldest_ns = std::max(oldest_ns, dump.age_ns);
      used++;
    }
    if (used)
      out_.notes.push_back("collectives of " + std::to_string(used) +
                           " ranks are those of PyTorch's flight recorder, up to " +
                           std::to_string(oldest_ns / 1'000'000'000) + " s old");
  }

  // A rank of the job of which nothing is here. If it has written a trace in this directory, it was here.
  void add_absent() {
    if (found_.world_size < 0 || size_t(found_.world_size) > kMostRanks || found_.ranks_were_chosen) return;
    std::set<i32> known;
    for (const Subject& s : subjects_) known.insert(s.rank.number);
    if (known.contains(-1)) return;
    u64 began_ns = ~u64(0);
    for (const Subject& s : subjects_)
      if (s.created_ns) began_ns = std::min(began_ns, s.created_ns);
    for (i32 number = 0; number < found_.world_size; number++) {
      if (known.contains(number)) continue;
      Subject s;
      s.here = false;
      s.rank.number = number;
      s.rank.process.state = state_by_trace(number, began_ns);
      if (s.rank.process.state == State::elsewhere) s.rank.process.why_no_stacks = "nothing of it is seen on this host";
      subjects_.push_back(std::move(s));
    }
  }

  // `since_ns`: traces from before are those of former runs.
  State state_by_trace(i32 number, u64 since_ns) const {
    State unknown = found_.on_one_host ? State::absent : State::elsewhere;
    std::string last, mark = "_rank" + std::to_string(number) + ".";
    u64 newest = since_ns;
    if (found_.directory.empty()) return unknown;
    for (const std::string& path : list_files(found_.directory, is_trace_name)) {
      struct stat s;
      if (base_name(path).find(mark) == std::string::npos || stat(path.c_str(), &s) != 0) continue;
      u64 time = u64(s.st_mtim.tv_sec) * 1'000'000'000 + u64(s.st_mtim.tv_nsec);
      if (time < newest) continue;
      newest = time;
      last = path;
    }
    if (last.empty()) return unknown;
    try {
      return read_summary(last).ledger.value("process_ended_inside", false) ? State::killed : State::ended;
    } catch (const std::exception&) {
      return unknown;
    }
  }

  // --- two looks

  void look(Look Subject::*at, Recent Rank::*recent) {
    for (Subject& s : subjects_) {
      if (s.here) s.*at = look_at(s.rank.process.pid, s.start_time);
      if (s.path.empty()) continue;
      try {
        std::unique_ptr<Recording> recording = Recording::open(s.path);
        s.closed = recording->header().closed.load() != 0;
        s.rank.*recent = recent_of(*recording, recording->read_meta());
      } catch (const Error&) {
        continue;  // it was finished and removed meanwhile
      }
    }
  }

  void settle_state(Subject& s) {
    Process& p = s.rank.process;
    p.state = settled_state(p.pid, s.before, s.now);
    p.signal = s.now.signal;
    bool goes_on = s.rank.now.latest_ticks != s.rank.before.latest_ticks;
    // A process in another container has another id here.
    if (!s.here || (p.state == State::absent && goes_on)) {
      p.state = s.closed ? State::ended : State::elsewhere;
      s.here = false;
    } else if (p.state == State::absent) {
      p.state = s.closed ? State::ended : State::killed;
    }
    if (p.state == State::ended || p.state == State::killed) s.rank.now.records = false;
    p.moved_bytes = moved_bytes(p.pid, s.before, s.now);
  }

  // --- stacks

  void read_stacks(Subject& s, Frames frames) {
    State state = s.rank.process.state;
    if (!s.here || !s.rank.process.pid || (state != State::alive && state != State::stopped)) return;
    try {
      ProgramStacks stacks = stacks_of_process(s.rank.process.pid, frames);
      put_stacks(stacks, s.before, s.now, s.rank.process);
      out_.stacks[stacks.pid] = std::move(stacks);
      if (frames == Frames::all) native_.insert(s.rank.process.pid);
    } catch (const Error& e) {
      s.rank.process.why_no_stacks = e.what();
    }
  }

  // Workers of its data loaders: children of it that run a worker's loop.
  void read_workers(Subject& s) {
    bool waits = std::any_of(s.rank.process.threads.begin(), s.rank.process.threads.end(),
                             [](const Thread& t) { return t.main && t.wait == Wait::loader; });
    if (!waits || !s.rank.workers.empty()) return;
    std::set<int> ranks;
    for (const Subject& other : subjects_) ranks.insert(other.rank.process.pid);
    std::map<int, Look> before;
    std::vector<int> pids;
    for (int pid : with_descendants({s.rank.process.pid}))
      if (!ranks.contains(pid) && pids.size() < kMostWorkers) {
        pids.push_back(pid);
        before[pid] = look_at(pid, 0);
      }
    timespec pause{0, kBetweenLooksNs / 5};
    nanosleep(&pause, nullptr);
    for (int pid : pids) add_worker(s, pid, before[pid]);
  }

  void add_worker(Subject& s, int pid, const Look& before) {
    Process worker;
    worker.pid = pid;
    Look now = look_at(pid, 0);
    worker.state = settled_state(pid, before, now);
    worker.signal = now.signal;
    try {
      ProgramStacks stacks = stacks_of_process(pid, Frames::all);
      auto loops = [](const ThreadStack& t) {
        return std::any_of(t.frames.begin(), t.frames.end(), [](auto& f) { return f.function == "_worker_loop"; });
      };
      if (std::none_of(stacks.threads.begin(), stacks.threads.end(), loops)) return;
      put_stacks(stacks, before, now, worker);
      out_.stacks[pid] = std::move(stacks);
    } catch (const Error& e) {
      if (worker.state == State::alive || !found_.loader_workers.contains(pid)) return;
      worker.why_no_stacks = e.what();
    }
    s.rank.workers.push_back(std::move(worker));
  }

  // What threads wait for is known by native frames. Who is to blame may change by it, a few times.
  void judge() {
    for (int round = 0;; round++) {
      out_.job.ranks.clear();
      for (const Subject& s : subjects_) out_.job.ranks.push_back(s.rank);
      out_.finding = verdict(out_.job);
      if (round == kMostRounds || !look_closer()) return;
    }
  }

  // At those who may be to blame: whether there is more to know of them.
  bool look_closer() {
    bool more = false;
    std::vector<u32> ranks = out_.finding.culprits;
    ranks.insert(ranks.end(), out_.finding.candidates.begin(), out_.finding.candidates.end());
    for (size_t n = 0; n < ranks.size(); n++) {
      if (n >= out_.finding.culprits.size() && closer_ >= kMostNative) break;
      Subject& s = subjects_[ranks[n]];
      if (s.here && !native_.contains(s.rank.process.pid) && s.rank.process.why_no_stacks.empty()) {
        closer_++;
        read_stacks(s, Frames::all);
        more |= native_.contains(s.rank.process.pid);
      }
      size_t workers = s.rank.workers.size();
      read_workers(s);
      more |= s.rank.workers.size() != workers;
    }
    return more;
  }

  void note_not_recorded(bool any_recorded) {
    out_.notes.push_back(
        any_recorded ? std::to_string(not_recorded_) +
                           " of the ranks are not being recorded now: of these, only stacks tell what they do"
                     : "nothing is being recorded now, so which collective each rank is in is not known: stacks "
                       "alone tell who waits");
  }

  Gathered out_;
  Subjects found_;
  std::vector<Subject>& subjects_ = found_.all;
  std::map<i32, Dump> dumps_;  // by rank
  std::set<int> native_;       // processes whose native stacks are read
  size_t closer_ = 0;          // how often that was tried of ranks that may be to blame
  size_t not_recorded_ = 0;
};

}  // namespace

Gathered gather(const std::string& subject, const std::string& dumps, int pid) {
  return Gatherer(subject, dumps, pid).run();
}

}  // namespace tprof::hang
