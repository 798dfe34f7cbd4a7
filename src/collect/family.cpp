// Session, continued: who this process is among the processes of its job, and where its recording goes.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/process.h"
#include "collect/session.h"

namespace tprof {
namespace {

char g_start_directory[PATH_MAX];

// The variable that a program leaves to its children: "<recording path>;<RANK>".
constexpr char kParent[] = "TPROF_PARENT";
constexpr char kBaseTime[] = "TPROF_BASE_TIME_NS";

const char* rank_text() {
  const char* rank = getenv("RANK");
  return rank ? rank : "";
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
  int n = read_small_file("/proc/self/cmdline", arguments, sizeof arguments);
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
  snprintf(out, size, "%s", best);
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

// Sets the role. Returns whether this process may speak: only the first of its job does.
bool Session::find_family() {
  if (gethostname(host_, sizeof host_ - 1) != 0 || !host_[0]) strcpy(host_, "localhost");
  created_ns_ = clock_ns(CLOCK_REALTIME);
  const char* base = getenv(kBaseTime);
  base_time_ns_ = base ? strtoull(base, nullptr, 10) : 0;
  if (base_time_ns_ == 0 || base_time_ns_ > created_ns_) base_time_ns_ = quarter_start_ns(created_ns_);
  const char* parent = getenv(kParent);
  const char* semicolon = parent ? strrchr(parent, ';') : nullptr;
  if (!semicolon || size_t(semicolon - parent) >= sizeof leader_path_) return true;
  // Another rank than the ancestor's is a program of its own (torchrun's children), an equal one a helper.
  if (strcmp(semicolon + 1, rank_text()) != 0) return false;
  memcpy(leader_path_, parent, semicolon - parent);
  role_ = Role::helper;
  const char* under = strrchr(leader_path_, '_');
  parent_pid_ = under ? u32(strtoul(under + 1, nullptr, 10)) : 0;
  return false;
}

// Children of a process that failed would say the same again.
void Session::silence_children() { snprintf(exports_, sizeof exports_, "%s=;%s\n", kParent, rank_text()); }

bool Session::find_logdir(OptionError& error) {
  char dir[PATH_MAX - 128];
  int n;
  const char* start = g_start_directory[0] ? g_start_directory : ".";
  if (options_.logdir.value[0] == '/') {
    n = snprintf(dir, sizeof dir, "%s", options_.logdir.value);
  } else if (options_.logdir) {
    n = snprintf(dir, sizeof dir, "%s/%s", start, options_.logdir.value);
  } else {
    char name[128], stamp[32];
    program_name(name, sizeof name);
    time_t now = time(nullptr);
    struct tm local;
    localtime_r(&now, &local);
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &local);
    n = snprintf(dir, sizeof dir, "%s/tprof_log/%s-%s", start, name, stamp);
  }
  if (n >= int(sizeof dir)) {
    snprintf(error.text, sizeof error.text, "TPROF_LOGDIR: the path is longer than %zu characters", sizeof dir);
    return false;
  }
  while (n > 1 && dir[n - 1] == '/') dir[--n] = 0;
  if (!can_write_below(dir)) {
    snprintf(error.text, sizeof error.text, "TPROF_LOGDIR=%.400s: cannot be written: %s; name a directory that can", dir,
             strerror(errno));
    return false;
  }
  snprintf(recording_path_, sizeof recording_path_, "%s/%s_%u.%llu.tprof", dir, host_, pid_,
           static_cast<unsigned long long>(created_ns_));
  note("logdir", dir);
  const char* leader = role_ == Role::helper ? leader_path_ : recording_path_;
  snprintf(exports_, sizeof exports_, "TPROF_LOGDIR=%s\n%s=%s;%s\n%s=%llu\n", dir, kParent, leader, rank_text(), kBaseTime,
           static_cast<unsigned long long>(base_time_ns_));
  return true;
}

// The leader's header, mapped once it exists.
const FileHeader* Session::leader() {
  if (leader_ || !leader_path_[0]) return leader_;
  int fd = open(leader_path_, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return nullptr;
  struct stat s;
  void* at = MAP_FAILED;
  if (fstat(fd, &s) == 0 && s.st_size >= off_t(kHeaderBytes))
    at = mmap(nullptr, kHeaderBytes, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (at == MAP_FAILED) return nullptr;
  const auto* h = static_cast<const FileHeader*>(at);
  if (memcmp(h->magic, kRecordingMagic, sizeof h->magic) != 0) {
    munmap(at, kHeaderBytes);
    return nullptr;
  }
  return leader_ = h;
}

}  // namespace tprof
