// Session, continued: who this process is among the processes of its job, where its recording goes, how a helper
// follows its leader, and what a fork changes.
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
#include "collect/cuda/cupti.h"
#include "collect/cuda/gpu_log.h"
#include "collect/native/images.h"
#include "collect/recorder/recorder.h"
#include "collect/recorder/stack_tree.h"
#include "collect/session/bus_guard.h"
#include "collect/session/finisher.h"
#include "collect/session/helper.h"
#include "collect/session/session.h"
#include "collect/session/signals.h"
#include "record/mapping.h"

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

void Session::set_role(Role role) {
  role_ = role;
  g_gate.leader.store(role == Role::helper ? 0 : kNoEpoch, std::memory_order_relaxed);
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
  set_role(Role::helper);
  const char* under = strrchr(leader_path_, '_');
  parent_pid_ = under ? u32(strtoul(under + 1, nullptr, 10)) : 0;
  return false;
}

void Session::export_environment() const {
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
    snprintf(error.text, sizeof error.text, "TPROF_LOGDIR=%.400s: cannot be written: %s; name a directory that can",
             dir, strerror(errno));
    return false;
  }
  snprintf(recording_path_, sizeof recording_path_, "%s/%s_%u.%llu.tprof", dir, host_, pid_,
           static_cast<unsigned long long>(created_ns_));
  note("logdir", dir);
  const char* leader = role_ == Role::helper ? leader_path_ : recording_path_;
  snprintf(exports_, sizeof exports_, "TPROF_LOGDIR=%s\n%s=%s;%s\n%s=%llu\n", dir, kParent, leader, rank_text(),
           kBaseTime, static_cast<unsigned long long>(base_time_ns_));
  return true;
}

// The leader's header, mapped once it exists.
const FileHeader* Session::leader() {
  if (leader_ || !leader_path_[0]) return leader_;
  int fd = open(leader_path_, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return nullptr;
  struct stat s;
  void* at = MAP_FAILED;
  if (fstat(fd, &s) == 0 && s.st_size >= off_t(kHeaderBytes)) at = map_shared(fd, 0, kHeaderBytes, PROT_READ, nullptr);
  close(fd);
  if (at == MAP_FAILED) return nullptr;
  bus_guard_install();
  const auto* h = static_cast<const FileHeader*>(at);
  if (memcmp(h->magic, kRecordingMagic, sizeof h->magic) != 0) {
    unmap_shared(at, kHeaderBytes);
    return nullptr;
  }
  return leader_ = h;
}

// ---------------------------------------------------------------- helpers of a program

void Session::follow(u64 now) {
  if (role_ != Role::helper || !live()) return;
  const FileHeader* leader = leader_;
  if (!leader) {
    // Not there while the leader has recorded nothing; looking takes a syscall, so not at every operator.
    constexpr u64 kLookEvery_ns = 50'000'000;
    u64 ns = clock_ns(CLOCK_MONOTONIC_COARSE);
    if (ns - leader_tried_ < kLookEvery_ns) return;
    leader_tried_ = ns;
    SpinGuard guard(lock_);
    leader = this->leader();
    if (!leader) return;
  }
  u32 seen = leader->closed.load(std::memory_order_relaxed) ||
                     leader->phase.load(std::memory_order_acquire) != u32(Phase::active)
                 ? kNoEpoch
                 : leader->epoch.load(std::memory_order_relaxed);
  if (seen == leader_seen_) return;
  SpinGuard guard(lock_);
  if (role_ != Role::helper || seen == leader_seen_) return;
  leader_seen_ = seen;
  mirror(seen != kNoEpoch, now);
}

// Windows of a recording have a number each, whoever opened them: it is not the leader's.
void Session::mirror(bool active, u64 now) {
  if (window_) end_window(-1, now);
  if (!active) {
    g_epoch.store(kNoEpoch);
    return;
  }
  if (!open_recording()) return;
  window_number_ = next_window_++;
  window_ = g_writer.add_window(u32(window_number_), WindowState::active, 0, current_tid());
  if (!window_) return;
  window_->begin_ticks = now;
  plan_ = {Phase::active, window_number_};
  u32 epoch = u32(window_number_) * 2 + 1;
  g_writer.header()->phase.store(u32(Phase::active));
  g_writer.header()->epoch.store(epoch);
  g_epoch.store(epoch, std::memory_order_release);
}

void Session::promote(bool number_needed) {
  if (role_ != Role::helper) return;
  SpinGuard guard(lock_);
  if (role_ != Role::helper || !live() || (number_needed && detector_.number() < 0)) return;
  set_role(Role::program);
  if (g_writer.is_open()) g_writer.header()->role.store(u32(role_));
  signals_install(options_.signal);
  i64 number = detector_.number();
  Plan plan = plan_for(number);
  if (window_ && plan.phase == Phase::active && plan.window == i64(leader_seen_ / 2)) {  // its window is the leader's
    window_base_ = window_number_ - plan.window;
    if (options_.schedule.given) window_->first_step = number;
    if (step_ticks_ > window_->begin_ticks) window_->begin_ticks = step_ticks_;
    gpu_log_open(window_);
    cupti_follow(plan.phase);
    helper_start();
    set_level(Level::all);
  } else {
    if (window_) discard_window(now_ticks());
    window_base_ = next_window_;
    plan_ = {Phase::wait, -1};
    apply_plan(plan_for(number), number, step_ticks_);
  }
  if (number >= 0) record_step(number, step_ticks_, step_by_);
  if (!detector_.tentative()) step_confirmed();
}

// ---------------------------------------------------------------- forks

void Session::child_ready() {
  SpinGuard guard(lock_);
  if (live() && role_ == Role::helper) set_level(Level::all);
}

void Session::fork_prepare() {
  // A thread of ours would make Python warn about forking with threads.
  helper_stop();
}

void Session::fork_child() {
  if (!attached_) return;
  helper_forget();
  finisher_forget();
  signals_forget();
  bus_guard_forget();
  cupti_forget();
  reset_threads_in_child();
  reset_recorder_in_child();
  reset_stacks_in_child();
  reset_images_in_child();
  lock_.reset();
  if (role_ == Role::program) {
    leader_ = g_writer.header();  // stays mapped, and shows what the parent does next
    strcpy(leader_path_, recording_path_);
    parent_pid_ = pid_;
  }
  g_writer.forget();
  set_role(Role::helper);
  speaks_ = false;  // what there is to say, the parent says
  pid_ = u32(getpid());
  created_ns_ = clock_ns(CLOCK_REALTIME);
  const char* slash = strrchr(leader_path_, '/');
  snprintf(recording_path_, sizeof recording_path_, "%.*s/%s_%u.%llu.tprof", int(slash ? slash - leader_path_ : 0),
           leader_path_, host_, pid_, static_cast<unsigned long long>(created_ns_));
  leader_seen_ = kNoEpoch;
  leader_tried_ = 0;
  plan_ = {Phase::wait, -1};
  window_ = nullptr;
  window_number_ = -1;
  step_ = previous_step_ = nullptr;
  stretch_ = nullptr;
  step_ended_ = previous_ended_ = stretch_open_ = false;
  paused_ = resting_ = began_ = deferred_ = false;
  for (auto& slot : closing_) slot.store(nullptr);
  step_tid_ = 0;
  step_block_ = forward_block_ = nullptr;
  step_tid_sure_ = false;
  first_number_ = window_base_ = next_window_ = 0;
  armed_ = armed_from_start();
  profiler_windows_ = 0;
  detector_.reset(options_.step, this, now_ticks());
}

}  // namespace tprof
