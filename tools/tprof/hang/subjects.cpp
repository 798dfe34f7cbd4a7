#include "hang/subjects.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/directory.h"
#include "base/error.h"
#include "input/programs.h"
#include "input/trace_file.h"
#include "model/job.h"
#include "record/reader.h"
#include "remote/process.h"

namespace tprof::hang {
namespace {

using Environment = std::map<std::string, std::string>;

// With which a process was started.
Environment environment_of(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  Environment out;
  for (std::string one; std::getline(file, one, '\0');)
    if (size_t at = one.find('='); at != std::string::npos) out[one.substr(0, at)] = one.substr(at + 1);
  return out;
}

std::string value_of(const Environment& environment, const char* name) {
  auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

JobPlace place_in(const Environment& environment) {
  return place_in_job([&](const char* name) {
    auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

int parent_of(int pid) { return atoi(remote::status_field(pid, "PPid").c_str()); }

// The log directory into which a process records; empty: it does not at present.
std::string directory_of(const remote::Process& process) {
  for (const remote::Mapping& mapping : process.mappings())
    if (mapping.path.ends_with(".tprof") && !mapping.executable)
      return std::filesystem::path(process.path_here(mapping)).parent_path().string();
  return "";
}

// As recordings have it.
std::string host_name() {
  char name[sizeof FileHeader::host] = {};
  return gethostname(name, sizeof name - 1) != 0 || !*name ? "localhost" : name;
}

// The processes of pid namespaces within ours, as containers have them: by the ids that they have there.
std::multimap<int, int> namespaced_processes() {
  std::multimap<int, int> out;
  for (int pid : numbers_in("/proc"))
    if (int own = remote::innermost_id(pid); own != pid) out.emplace(own, pid);
  return out;
}

bool may_be_own_namespace(const Meta& meta) {
  std::error_code ignored;
  auto noted = meta.info.find("pid_namespace");
  return noted == meta.info.end() || noted->second == std::filesystem::read_symlink("/proc/self/ns/pid", ignored);
}

// Whether the process that began then (0: not known) has this id and runs.
bool is_process(int pid, u64 start_time) {
  u64 found = process_identity(pid).start_time;
  return found && (!start_time || found == start_time);
}

class Finder {
 public:
  explicit Finder(bool has_dumps) : has_dumps_(has_dumps) {}

  Subjects run(const std::string& subject, int pid) {
    std::error_code ignored;
    if (int named = pid_in(subject))
      find_by_process(named);
    else if (std::filesystem::is_directory(subject, ignored))
      find_in_directory(subject, pid);
    else
      throw Error(Fault::usage, "'" + subject + "' is neither a process id nor a log directory");
    for (const Subject& s : out_.all) {
      out_.world_size = std::max(out_.world_size, s.place.world_size);
      out_.on_one_host |= is_job_of_this_host(s);
    }
    return std::move(out_);
  }

 private:
  // --- by recordings

  void find_in_directory(const std::string& directory, int pid) {
    out_.directory = directory;
    size_t recordings = 0;
    for (const std::string& path : list_files(directory, is_recording_name)) try {
        recordings++;
        add_recording(path);
      } catch (const Error& e) {
        out_.notes.push_back(e.what());
      }
    if (!recordings && !has_dumps_)
      throw Error(Fault::unreadable, directory +
                                         ": holds no recording of a running program (*.tprof); if nothing is "
                                         "recorded yet, name the process id of a rank");
    choose_job(pid);
    bool any = has_dumps_ || std::any_of(out_.all.begin(), out_.all.end(), [](const Subject& s) {
                 return !s.here || look_at(s.rank.process.pid, s.start_time).state != State::absent;
               });
    if (!any) throw Error(Fault::unreadable, directory + ": none of its programs is running on this machine");
  }

  void add_recording(const std::string& path) {
    std::unique_ptr<Recording> recording = Recording::open(path);
    const FileHeader& header = recording->header();
    if (recording->is_folded()) return;
    Subject s;
    find_process(*recording, s);
    if (header.role.load() != u32(Role::program)) {
      if (header.loader.loader && s.here) out_.loader_workers.insert(s.rank.process.pid);
      return;
    }
    Meta meta = recording->read_meta();
    s.place = place_of(header, meta);
    s.ranks_were_chosen = !meta.option("ranks").empty();
    struct stat file;
    if (!stat(path.c_str(), &file)) s.written_ns = i64(file.st_mtim.tv_sec) * 1'000'000'000 + file.st_mtim.tv_nsec;
    s.path = path;
    s.rank.recorded = true;
    s.rank.number = s.place.rank;
    s.rank.host = header.host;
    s.created_ns = header.created_ns;
    s.own_pid = header.pid;
    s.ancestor = header.parent_pid;
    out_.all.push_back(std::move(s));
  }

  // A process in a container has another id here than its recording says, or is not seen here at all. One that is not
  // found has ended if it was in this pid namespace, of a host of this name.
  void find_process(Recording& recording, Subject& s) {
    const FileHeader& header = recording.header();
    s.rank.process.pid = int(header.pid);
    s.start_time = header.process_start;
    s.here = !strcmp(process_identity(1).boot_id, header.boot_id);
    if (!s.here || is_process(int(header.pid), s.start_time)) return;
    if (!namespaced_) namespaced_ = std::make_unique<std::multimap<int, int>>(namespaced_processes());
    auto [from, to] = namespaced_->equal_range(int(header.pid));
    auto found = std::find_if(from, to, [&](const auto& one) { return is_process(one.second, s.start_time); });
    if (found != to)
      s.rank.process.pid = found->second;
    else
      s.here = host_name() == header.host && may_be_own_namespace(recording.read_meta());
    if (!s.here) s.rank.process.why_no_stacks = "it runs in another container of this host";
  }

  // --- which job: a directory may hold recordings of runs before this one, and of others

  static bool runs(const Subject& s) { return s.here && is_process(s.rank.process.pid, s.start_time); }
  static bool is_rank(const Subject& s) { return s.rank.number >= 0; }

  static bool of_other_size(const Subject& a, const Subject& b) {
    return a.place.world_size >= 0 && b.place.world_size >= 0 && a.place.world_size != b.place.world_size;
  }
  static bool of_other_job(const Subject& a, const Subject& b) {
    return a.path != b.path && is_rank(a) && is_rank(b) && (a.rank.number == b.rank.number || of_other_size(a, b));
  }
  template <class Test>
  bool any_of_other_jobs(Test test) const {
    for (const Subject& a : out_.all)
      for (const Subject& b : out_.all)
        if (of_other_job(a, b) && test(a) && test(b)) return true;
    return false;
  }

  // What a rank has started has its variables, and may record steps of its own.
  bool is_of_a_rank(const Subject& s) const {
    return std::any_of(out_.all.begin(), out_.all.end(), [&](const Subject& other) {
      return s.ancestor && other.own_pid == s.ancestor && other.rank.host == s.rank.host &&
             other.rank.number == s.rank.number && runs(other);
    });
  }

  // Asks about all before any is gone.
  template <class Test>
  void erase(Test test) {
    std::vector<Subject> kept;
    for (const Subject& s : out_.all)
      if (!test(s)) kept.push_back(s);
    out_.all = std::move(kept);
  }

  void choose_job(int pid) {
    if (std::none_of(out_.all.begin(), out_.all.end(), is_rank)) {
      erase([](const Subject& s) { return s.here && !runs(s); });
      return;
    }
    erase([&](const Subject& s) { return !is_rank(s) || is_of_a_rank(s); });
    if (pid && any_of_other_jobs(runs)) {
      std::string job = job_of(pid);
      std::vector<int> kin = with_descendants({pid});
      erase([&](const Subject& s) {
        bool ours = std::binary_search(kin.begin(), kin.end(), s.rank.process.pid);
        return runs(s) && !ours && job_of(s.rank.process.pid) != job;
      });
    }
    forget_former_runs();
    out_.ranks_were_chosen =
        std::any_of(out_.all.begin(), out_.all.end(), [](const Subject& s) { return s.ranks_were_chosen; });
    if (any_of_other_jobs([](const Subject&) { return true; }))
      out_.cannot_tell = "two jobs write to this directory; name a process of the one that hangs";
  }

  // Of what does not run, or of which that is not known: those of other sizes than the newest that runs, those of ranks
  // that were started again, and what nobody wrote into since the first process that runs began.
  void forget_former_runs() {
    const Subject* newest = nullptr;
    std::optional<i64> began_ns;
    for (const Subject& s : out_.all) {
      if (!newest || std::pair(runs(s), s.created_ns) > std::pair(runs(*newest), newest->created_ns)) newest = &s;
      if (i64 age = runs(s) ? age_of(s) : -1; age >= 0)
        began_ns = std::min(began_ns.value_or(INT64_MAX), i64(clock_ns(CLOCK_REALTIME)) - age);
    }
    erase([&](const Subject& s) {
      auto replaces = [&](const Subject& other) {
        if (other.path == s.path || other.rank.number != s.rank.number) return false;
        return other.created_ns > s.created_ns || (runs(other) && s.here);
      };
      bool former = s.here && s.written_ns && began_ns && s.written_ns < *began_ns;
      return !runs(s) &&
             (former || of_other_size(s, *newest) || std::any_of(out_.all.begin(), out_.all.end(), replaces));
    });
  }

  // The launcher says how many ranks it has started here, or they meet at an address that no other host can reach.
  static bool is_job_of_this_host(const Subject& s) {
    if (!s.here || s.place.world_size < 0) return false;
    if (s.place.local_world_size == s.place.world_size) return true;
    std::string meets = value_of(environment_of(s.rank.process.pid), "MASTER_ADDR");
    return meets == "localhost" || meets == "::1" || meets.starts_with("127.");
  }

  // --- without a recording: a process, and those of its kin that are ranks of a job

  void find_by_process(int pid) {
    std::unique_ptr<remote::Process> process = remote::Process::open(pid);
    if (std::string directory = directory_of(*process); !directory.empty()) return find_in_directory(directory, pid);
    auto place_of_process = [](int one) { return place_in(environment_of(one)); };
    std::vector<int> kin{pid};
    int parent = parent_of(pid);
    if (place_of_process(pid).rank >= 0 && parent > 1) kin.push_back(parent);
    for (int one : with_descendants(kin)) {
      JobPlace place = place_of_process(one);
      bool is_worker = place_of_process(parent_of(one)).rank == place.rank;
      if (one != pid && (place.rank < 0 || is_worker)) continue;
      Subject s;
      s.place = place;
      s.rank.number = place.rank;
      s.rank.process.pid = one;
      s.start_time = process_identity(one).start_time;
      out_.all.push_back(std::move(s));
    }
    // It has started ranks, and is none itself.
    if (out_.all.size() > 1)
      std::erase_if(out_.all, [&](const Subject& s) { return s.rank.number < 0 && s.rank.process.pid == pid; });
  }

  bool has_dumps_;
  Subjects out_;
  std::unique_ptr<std::multimap<int, int>> namespaced_;
};

}  // namespace

Subjects find_subjects(const std::string& subject, bool has_dumps, int pid) {
  return Finder(has_dumps).run(subject, pid);
}

i64 age_of(const Subject& subject) {
  if (subject.here && subject.start_time) {
    u64 ticks_a_second = u64(sysconf(_SC_CLK_TCK));
    u64 began_ns = subject.start_time * (1'000'000'000 / ticks_a_second);
    return i64(clock_ns(CLOCK_BOOTTIME)) - i64(began_ns);
  }
  return subject.created_ns ? i64(clock_ns(CLOCK_REALTIME)) - i64(subject.created_ns) : -1;
}

std::string job_of(int pid) {
  Environment environment = environment_of(pid);
  std::string out;
  for (const char* name : {"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "SLURM_STEP_ID", "PMIX_NAMESPACE"})
    if (std::string value = value_of(environment, name); !value.empty()) out += std::string(name) + "=" + value + ", ";
  if (out.empty()) out = "started by " + std::to_string(parent_of(pid)) + ", ";
  out += std::to_string(place_in(environment).world_size) + " ranks";
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return out;
}

}  // namespace tprof::hang
