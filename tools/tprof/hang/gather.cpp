#include "hang/gather.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/error.h"
#include "base/job.h"
#include "hang/dumps.h"
#include "hang/look.h"
#include "input/programs.h"
#include "input/trace_file.h"
#include "model/job.h"
#include "record/reader.h"
#include "remote/process.h"

namespace tprof::hang {
namespace {

constexpr long kBetweenLooksNs = 1'000'000'000;
constexpr size_t kMostNative = 16;  // processes whose native stacks are read if nothing else tells what they do
constexpr size_t kMostRanks = 4096;
constexpr size_t kMostWorkers = 32;

// A rank while it is looked at.
struct Subject {
  Rank rank;
  std::string path;  // of its recording; empty: it has none
  u64 start_time = 0, created_ns = 0;
  bool closed = false, here = true;
  Look before, now;
};

std::string proc(int pid, const char* name) { return "/proc/" + std::to_string(pid) + "/" + name; }

// Its place in a job, by the environment with which it was started.
JobPlace place_of_process(int pid) {
  std::ifstream file(proc(pid, "environ"), std::ios::binary);
  std::map<std::string, std::string> variables;
  for (std::string one; std::getline(file, one, '\0');)
    if (size_t at = one.find('='); at != std::string::npos) variables[one.substr(0, at)] = one.substr(at + 1);
  return place_in_job([&](const char* name) {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

// The log directory into which a process records; empty: it does not at present.
std::string directory_of(const remote::Process& process) {
  for (const remote::Mapping& mapping : process.mappings())
    if (mapping.path.ends_with(".tprof") && !mapping.executable)
      return std::filesystem::path(process.path_here(mapping)).parent_path().string();
  return "";
}

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
  Gatherer(const std::string& subject, const std::string& dumps) {
    read_dumps(subject, dumps);
    find(subject);
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
  // --- which processes

  void find(const std::string& subject) {
    std::error_code ignored;
    if (int pid = pid_in(subject))
      find_by_process(pid);
    else if (std::filesystem::is_directory(subject, ignored))
      find_in_directory(subject);
    else
      throw Error(Fault::usage, "'" + subject + "' is neither a process id nor a log directory");
  }

  void find_in_directory(const std::string& directory) {
    directory_ = directory;
    size_t recordings = 0;
    for (const std::string& path : list_files(directory, is_recording_name)) try {
        recordings++;
        add_recording(path);
      } catch (const Error& e) {
        out_.notes.push_back(e.what());
      }
    if (!recordings && dumps_.empty())
      throw Error(Fault::unreadable, directory +
                                         ": holds no recording of a running program (*.tprof); if nothing is "
                                         "recorded yet, name the process id of a rank");
    forget_former_runs();
    bool any = !dumps_.empty() || std::any_of(subjects_.begin(), subjects_.end(), [](const Subject& s) {
      return !s.here || look_at(s.rank.process.pid, s.start_time).state != State::absent;
    });
    if (!any) throw Error(Fault::unreadable, directory + ": none of its programs is running on this machine");
  }

  void add_recording(const std::string& path) {
    std::unique_ptr<Recording> recording = Recording::open(path);
    const FileHeader& header = recording->header();
    if (recording->is_folded() || header.role.load() != u32(Role::program)) return;
    Subject s;
    Meta meta = recording->read_meta();
    JobPlace place = place_of(header, meta);
    world_size_ = std::max(world_size_, place.world_size);
    ranks_were_chosen_ |= !meta.option("ranks").empty();
    s.path = path;
    s.rank.recorded = true;
    s.rank.number = place.rank;
    s.rank.host = header.host;
    s.rank.process.pid = int(header.pid);
    s.start_time = header.process_start;
    s.created_ns = header.created_ns;
    s.here = !strcmp(process_identity(1).boot_id, header.boot_id);
    subjects_.push_back(std::move(s));
  }

  // A directory may hold recordings of runs before this one: of each rank the newest counts, and of programs that are
  // no ranks those that run.
  void forget_former_runs() {
    std::map<i32, u64> newest;
    for (const Subject& s : subjects_)
      if (s.rank.number >= 0) newest[s.rank.number] = std::max(newest[s.rank.number], s.created_ns);
    std::erase_if(subjects_, [&](const Subject& s) {
      if (s.rank.number >= 0) return s.created_ns != newest[s.rank.number];
      return !newest.empty() || (s.here && look_at(s.rank.process.pid, s.start_time).state == State::absent);
    });
  }

  // Without a recording: this process, and those of its kin that are ranks of a job.
  void find_by_process(int pid) {
    std::unique_ptr<remote::Process> process = remote::Process::open(pid);
    if (std::string directory = directory_of(*process); !directory.empty()) return find_in_directory(directory);
    std::vector<int> kin{pid};
    int parent = atoi(remote::status_field(pid, "PPid").c_str());
    if (place_of_process(pid).rank >= 0 && parent > 1) kin.push_back(parent);
    for (int one : with_descendants(kin)) {
      JobPlace place = place_of_process(one);
      bool is_worker = place_of_process(atoi(remote::status_field(one, "PPid").c_str())).rank == place.rank;
      if (one != pid && (place.rank < 0 || is_worker)) continue;
      Subject s;
      s.rank.number = place.rank;
      s.rank.process.pid = one;
      s.start_time = process_identity(one).start_time;
      world_size_ = std::max(world_size_, place.world_size);
      subjects_.push_back(std::move(s));
    }
    // It has started ranks, and is none itself.
    if (subjects_.size() > 1)
      std::erase_if(subjects_, [&](const Subject& s) { return s.rank.number < 0 && s.rank.process.pid == pid; });
  }

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

  // What a dump says counts for a rank that is not being recorded now.
  void use_dumps() {
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
    if (world_size_ < 0 || size_t(world_size_) > kMostRanks || ranks_were_chosen_) return;
    std::set<i32> known;
    for (const Subject& s : subjects_) known.insert(s.rank.number);
    if (known.contains(-1)) return;
    for (i32 number = 0; number < world_size_; number++) {
      if (known.contains(number)) continue;
      Subject s;
      s.rank.number = number;
      s.rank.process.state = state_by_trace(number);
      subjects_.push_back(std::move(s));
    }
  }

  State state_by_trace(i32 number) const {
    std::string last, mark = "_rank" + std::to_string(number) + ".";
    std::filesystem::file_time_type newest{};
    std::error_code ignored;
    if (directory_.empty()) return State::absent;
    for (const std::string& path : list_files(directory_, is_trace_name)) {
      auto time = std::filesystem::last_write_time(path, ignored);
      if (base_name(path).find(mark) == std::string::npos || (!last.empty() && time < newest)) continue;
      newest = time;
      last = path;
    }
    if (last.empty()) return State::absent;
    try {
      return read_summary(last).ledger.value("process_ended_inside", false) ? State::killed : State::ended;
    } catch (const std::exception&) {
      return State::absent;
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
    p.state = s.now.state;
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
    worker.state = now.state;
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
      if (worker.state == State::alive) return;
      worker.why_no_stacks = e.what();
    }
    s.rank.workers.push_back(std::move(worker));
  }

  // What threads wait for is known by native frames. Who is to blame may change by it, a few times.
  void judge() {
    for (int round = 0; round < 4; round++) {
      out_.job.world_size = world_size_;
      out_.job.ranks.clear();
      for (const Subject& s : subjects_) out_.job.ranks.push_back(s.rank);
      out_.finding = verdict(out_.job);
      bool more = false;
      for (u32 i : out_.finding.culprits) {
        Subject& s = subjects_[i];
        if (s.here && !native_.contains(s.rank.process.pid) && s.rank.process.why_no_stacks.empty()) {
          read_stacks(s, Frames::all);
          more |= native_.contains(s.rank.process.pid);
        }
        size_t workers = s.rank.workers.size();
        read_workers(s);
        more |= s.rank.workers.size() != workers;
      }
      if (!more) return;
    }
  }

  void note_not_recorded(bool any_recorded) {
    out_.notes.push_back(
        any_recorded ? std::to_string(not_recorded_) +
                           " of the ranks are not being recorded now: of these, only "
                           "stacks tell what they do"
                     : "nothing is being recorded now, so which collective each rank is in is not known: stacks "
                       "alone tell who waits");
  }

  Gathered out_;
  std::string directory_;
  std::vector<Subject> subjects_;
  std::map<i32, Dump> dumps_;  // by rank
  std::set<int> native_;       // processes whose native stacks are read
  i32 world_size_ = -1;
  bool ranks_were_chosen_ = false;  // by --ranks: others have no recording
  size_t not_recorded_ = 0;
};

}  // namespace

Gathered gather(const std::string& subject, const std::string& dumps) { return Gatherer(subject, dumps).run(); }

}  // namespace tprof::hang
