#include "collect/session/family.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/plain_file.h"
#include "base/secrets.h"
#include "collect/recorder/recorder.h"
#include "collect/session/bus_guard.h"
#include "record/mapping.h"

namespace tprof {
namespace {

char g_start_directory[PATH_MAX];

// The variable that a program leaves to its children: "<recording path>;<the variable of its rank>=<rank>", or
// "<recording path>;" if it has none.
constexpr char kParent[] = "TPROF_PARENT";
constexpr char kBaseTime[] = "TPROF_BASE_TIME_NS";

struct RankText {
  char text[64] = {};
};
// The name of the variable is part of it: torchrun, started by Slurm as its task 0, starts a rank 0.
RankText rank_text(const JobPlace& place) {
  RankText out;
  if (place.variable) snprintf(out.text, sizeof out.text, "%s=%d", place.variable, place.rank);
  return out;
}

// The process id in the path of a recording, see set_recording_path().
u32 pid_in(const char* path) {
  const char* name = strrchr(path, '/');
  name = name ? name : path;
  const char* at = nullptr;
  for (const char* under = strchr(name, '_'); under; under = strchr(under + 1, '_'))
    if (under[1] >= '0' && under[1] <= '9') at = under;
  return at ? u32(strtoul(at + 1, nullptr, 10)) : 0;
}

// What libkineto uses: the start of the current quarter of a mean year, so that microseconds with three decimals
// stay exact in a double, and so that the ranks of a job agree.
u64 quarter_start_ns(u64 now_ns) {
  constexpr u64 kQuarter_ns = 7'889'238ull * 1'000'000'000ull;
  return now_ns / kQuarter_ns * kQuarter_ns;
}

// <script> of the default directory: the first argument that is a Python file, else the program's name.
void program_name(char* out, size_t size) {
  char arguments[4096];
  int n = read_own_command(arguments, sizeof arguments);
  const char* best = "program";
  for (const char* at = arguments; n > 0 && at < arguments + n; at += strlen(at) + 1) {
    const char* slash = strrchr(at, '/');
    const char* base = slash ? slash + 1 : at;
    size_t length = strlen(base);
    if (at == arguments && length) best = base;
    if (at != arguments && length > 3 && !strcmp(base + length - 3, ".py")) {
      best = base;
      break;
    }
  }
  snprintf(out, size, "%.*s", int(size) - 1, best);
  if (char* dot = strstr(out, ".py"); dot && !dot[3]) *dot = 0;
}

// Whether a file could be made under `path`, of which the last parts need not exist yet.
bool can_write_below(const char* path) {
  char part[PATH_MAX];
  snprintf(part, sizeof part, "%s", path);
  while (part[0]) {
    struct stat s;
    if (stat(part, &s) == 0) {
      if (!S_ISDIR(s.st_mode)) return errno = ENOTDIR, false;
      return access(part, W_OK | X_OK) == 0;
    }
    if (errno != ENOENT) return false;
    char* slash = strrchr(part, '/');
    if (!slash) return false;
    slash[slash == part ? 1 : 0] = 0;
  }
  return false;
}

}  // namespace

void remember_start_directory() {
  const char* dir = getenv("TPROF_LOGDIR");
  if (dir && *dir == '/') return;
  if (!getcwd(g_start_directory, sizeof g_start_directory)) g_start_directory[0] = 0;
}

void Family::set_role(Role role) {
  role_ = role;
  g_gate.leader.store(role == Role::helper ? 0 : kNoEpoch, std::memory_order_relaxed);
}

void Family::become_program() {
  set_role(Role::program);
  if (g_writer.is_open()) g_writer.header()->role.store(u32(role_));
}

bool Family::find() {
  pid_ = u32(getpid());
  if (gethostname(host_, sizeof host_ - 1) != 0 || !host_[0]) strcpy(host_, "localhost");
  created_ns_ = clock_ns(CLOCK_REALTIME);
  const char* base = getenv(kBaseTime);
  base_time_ns_ = base ? strtoull(base, nullptr, 10) : 0;
  if (base_time_ns_ == 0 || base_time_ns_ > created_ns_) base_time_ns_ = quarter_start_ns(created_ns_);
  place_ = place_in_job([](const char* name) -> const char* { return getenv(name); });
  const char* parent = getenv(kParent);
  const char* semicolon = parent ? strrchr(parent, ';') : nullptr;
  if (!semicolon || size_t(semicolon - parent) >= sizeof leader_path_) return true;
  // Another rank than the ancestor's is a program of its own (torchrun's children), an equal one a helper.
  if (strcmp(semicolon + 1, rank_text(place_).text) != 0) return false;
  memcpy(leader_path_, parent, semicolon - parent);
  set_role(Role::helper);
  parent_pid_ = pid_in(leader_path_);
  return false;
}

bool Family::find_logdir(const Options& options, OptionError& error) {
  int n;
  const char* start = g_start_directory[0] ? g_start_directory : ".";
  if (options.logdir.value[0] == '/') {
    n = snprintf(logdir_, sizeof logdir_, "%s", options.logdir.value);
  } else if (options.logdir) {
    n = snprintf(logdir_, sizeof logdir_, "%s/%s", start, options.logdir.value);
  } else {
    char name[128], stamp[32];
    program_name(name, sizeof name);
    time_t now = time(nullptr);
    struct tm local;
    localtime_r(&now, &local);
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &local);
    n = snprintf(logdir_, sizeof logdir_, "%s/tprof_log/%s-%s", start, name, stamp);
  }
  if (n >= int(sizeof logdir_)) {
    snprintf(error.text, sizeof error.text, "TPROF_LOGDIR: the path is longer than %zu characters", sizeof logdir_);
    return false;
  }
  while (n > 1 && logdir_[n - 1] == '/') logdir_[--n] = 0;
  if (!can_write_below(logdir_)) {
    snprintf(error.text, sizeof error.text, "TPROF_LOGDIR=%.400s: cannot be written: %s; name a directory that can",
             logdir_, strerror(errno));
    return false;
  }
  set_recording_path(logdir_, n);
  const char* leader = is_helper() ? leader_path_ : recording_path_;
  snprintf(exports_, sizeof exports_, "TPROF_LOGDIR=%s\n%s=%s;%s\n%s=%llu\n", logdir_, kParent, leader,
           rank_text(place_).text, kBaseTime, static_cast<unsigned long long>(base_time_ns_));
  return true;
}

void Family::set_recording_path(const char* directory, int length) {
  char rank[24] = {};
  if (place_.rank >= 0) snprintf(rank, sizeof rank, "_rank%d", place_.rank);
  snprintf(recording_path_, sizeof recording_path_, "%.*s/%s_%u%s.%llu.tprof", length, directory, host_, pid_, rank,
           static_cast<unsigned long long>(created_ns_));
}

RecordingSpec Family::spec(u64 max_bytes, bool speaks) const {
  return {recording_path_, host_, pid_, parent_pid_, created_ns_, base_time_ns_, max_bytes, role_, speaks};
}

void Family::export_environment() const {
  for (const char* line = exports_; *line;) {
    const char* end = strchr(line, '\n');
    const char* equals = strchr(line, '=');
    char key[64], value[PATH_MAX];
    snprintf(key, sizeof key, "%.*s", int(equals - line), line);
    snprintf(value, sizeof value, "%.*s", int(end - equals - 1), equals + 1);
    setenv(key, value, 1);
    line = end + 1;
  }
}

void Family::silence_children() { snprintf(exports_, sizeof exports_, "%s=;%s\n", kParent, rank_text(place_).text); }

// ---------------------------------------------------------------- the leader of a helper

bool Family::is_time_to_look() {
  constexpr u64 kLookEvery_ns = 50'000'000;
  u64 ns = clock_ns(CLOCK_MONOTONIC_COARSE);
  if (ns - looked_ns_ < kLookEvery_ns) return false;
  looked_ns_ = ns;
  return true;
}

bool Family::find_leader() {
  if (leader_ || !leader_path_[0]) return leader_;
  int fd = open_plain(leader_path_, O_RDONLY);
  if (fd < 0) return false;
  struct stat s;
  void* at = MAP_FAILED;
  if (fstat(fd, &s) == 0 && s.st_size >= off_t(kHeaderBytes)) at = map_shared(fd, 0, kHeaderBytes, PROT_READ, nullptr);
  close(fd);
  if (at == MAP_FAILED) return false;
  bus_guard_install();
  const auto* header = static_cast<const FileHeader*>(at);
  if (memcmp(header->magic, kRecordingMagic, sizeof header->magic) != 0) {
    unmap_shared(at, kHeaderBytes);
    return false;
  }
  leader_ = header;
  return true;
}

u32 Family::leader_epoch() const {
  bool records = !leader_->closed.load(std::memory_order_relaxed) &&
                 leader_->phase.load(std::memory_order_acquire) == u32(Phase::active);
  return records ? leader_->epoch.load(std::memory_order_relaxed) : kNoEpoch;
}

void Family::become_child() {
  if (role_ == Role::program) {
    leader_ = g_writer.header();  // stays mapped, and shows what the parent does next
    strcpy(leader_path_, recording_path_);
    parent_pid_ = pid_;
  }
  set_role(Role::helper);
  pid_ = u32(getpid());
  created_ns_ = clock_ns(CLOCK_REALTIME);
  const char* slash = strrchr(leader_path_, '/');
  set_recording_path(leader_path_, int(slash ? slash - leader_path_ : 0));
  looked_ns_ = 0;
}

}  // namespace tprof
