#include "collect/session/finisher.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/elf.h"
#include "base/process.h"
#include "record/writer.h"

extern char** environ;

namespace tprof {
namespace {

char g_tool[PATH_MAX];
char** g_environment;  // a copy in a mapping of its own: the program may change its environment at any time
std::atomic<u32> g_started{0};

struct Launch {
  const char* argv[4];
  char* inner_stack;
  void (*exists)();
  int failed;
  int pid;  // of the finisher
};

// Both functions below run in the address space of the program (CLONE_VM | CLONE_VFORK): raw system calls, nothing
// else. They do not return, so AddressSanitizer would hold parts of their stacks for unusable when something else is
// mapped there.
#define ON_LENT_STACK __attribute__((no_sanitize("address")))

ON_LENT_STACK int become_finisher(void* arg) {
  auto& launch = *static_cast<Launch*>(arg);
  if (launch.exists) launch.exists();  // this memory is the program's until execve
  setsid();
  for (int signal = 1; signal < NSIG; signal++) {
    struct sigaction ours {};
    ours.sa_handler = SIG_DFL;
    sigaction(signal, &ours, nullptr);  // CLONE_VM shares memory, not handlers
  }
  // All signals stay blocked, see launch(): outlive_signals() of the finisher lets them in.
  // glibc 2.31 has no SYS_close_range.
  if (syscall(__NR_close_range, 0, ~0u, 0) != 0)
    for (int fd = 0; fd < 4096; fd++) close(fd);
  open("/dev/null", O_RDWR);
  (void)!dup(0);
  (void)!dup(0);
  execve(launch.argv[0], const_cast<char**>(launch.argv), g_environment);
  launch.failed = errno;
  syscall(SYS_exit_group, 127);
  return 127;
}

// The process in between. Its exit signal is 0 and it never calls exec, so the program's waitpid(-1) does not see it
// (after an exec the exit signal would be SIGCHLD again). The finisher becomes an orphan when this process ends.
ON_LENT_STACK int stand_between(void* arg) {
  auto& launch = *static_cast<Launch*>(arg);
  launch.pid = clone(become_finisher, launch.inner_stack, CLONE_VM | CLONE_VFORK | SIGCHLD, arg);
  if (launch.pid < 0) launch.failed = errno;
  syscall(SYS_exit, 0);
  return 0;
}

// Children of the finisher, the sampler and the watcher, read this process (process_vm_readv), which Yama allows to
// ancestors only unless they are named here. Without need this is not called: the program may have named another
// process.
void let_in(int pid) {
  char scope[8];
  if (read_small_file("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope) > 0 && scope[0] == '1')
    prctl(PR_SET_PTRACER, pid, 0, 0, 0);
}

bool launch(void (*exists)(), bool is_read) {
  constexpr size_t kStack = 64 << 10;
  char* stacks = static_cast<char*>(
      mmap(nullptr, 2 * kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0));
  if (stacks == MAP_FAILED) return false;
  Launch l{{g_tool, "finish", g_writer.path(), nullptr}, stacks + kStack, exists, 0, 0};
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int middle = clone(stand_between, stacks + 2 * kStack, CLONE_VM | CLONE_VFORK, &l);
  if (middle > 0)
    while (syscall(SYS_wait4, middle, nullptr, __WALL, nullptr) < 0 && errno == EINTR) {
    }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  munmap(stacks, 2 * kStack);
  if (is_read && l.pid > 0 && !l.failed) let_in(l.pid);
  return middle > 0 && !l.failed;
}

bool orphans_come_to_us() {
  int subreaper = 0;
  prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
  return getpid() == 1 || subreaper;
}

bool start_once(void (*exists)(), bool is_read) {
  u32 no = 0;
  if (!g_started.compare_exchange_strong(no, 1)) return g_started.load() == 1;
  if (!g_tool[0] || !g_environment || !launch(exists, is_read)) g_started.store(2);  // 2: it cannot be started
  return g_started.load() == 1;
}

void find_tool() {
  // Not dladdr(): another thread may hold the loader's lock and wait for the session's, which we hold.
  ElfObject self = ElfObject::first([](const ElfObject& object) { return object.holds(&g_tool); });
  char real[PATH_MAX];
  if (!realpath(*self.path() ? self.path() : "/proc/self/exe", real)) return;  // no path: the program itself
  char* slash = strrchr(real, '/');
  if (!slash) return;
  *slash = 0;
  // Build tree (build/shim), <prefix>/lib/tprof, <prefix>/lib/<triplet>/tprof.
  static const char* const places[] = {"/../tools/tprof", "/../../bin/tprof", "/../../../bin/tprof"};
  for (const char* place : places) {
    char path[PATH_MAX + 32];
    strcpy(path, real);
    strcat(path, place);
    if (access(path, X_OK) == 0 && strlen(path) < sizeof g_tool) {
      strcpy(g_tool, path);
      return;
    }
  }
}

bool not_for_finisher(const char* entry) {
  return !strncmp(entry, "LD_PRELOAD=", 11) || !strncmp(entry, "LD_AUDIT=", 9);
}

}  // namespace

void finisher_prepare() {
  find_tool();
  size_t count = 0, bytes = 0;
  for (char** e = environ; e && *e; e++) count++, bytes += strlen(*e) + 1;
  size_t size = (count + 1) * sizeof(char*) + bytes;
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return;
  auto** list = static_cast<char**>(at);
  char* text = reinterpret_cast<char*>(list + count + 1);
  size_t used = 0;
  for (char** e = environ; e && *e; e++) {
    if (not_for_finisher(*e)) continue;
    list[used++] = text;
    text = stpcpy(text, *e) + 1;
  }
  g_environment = list;
}

bool finisher_start_early(void (*exists)(), bool is_read) {
  if (u32 started = g_started.load(std::memory_order_relaxed)) return started == 1;
  return g_writer.is_open() && !orphans_come_to_us() && start_once(exists, is_read);
}

void finisher_start() { start_once(nullptr, false); }

bool finisher_wait(double seconds) {
  if (g_started.load() != 1) return false;
  FileHeader* h = g_writer.header();
  double deadline = double(clock_ns(CLOCK_MONOTONIC)) + seconds * 1e9;  // seconds may be inf
  bool seen = false;
  while (h->unfinished.load(std::memory_order_acquire) != 0) {
    u32 pid = h->finisher_pid.load(std::memory_order_relaxed);
    bool gone = pid ? kill(pid_t(pid), 0) != 0 && errno == ESRCH : seen;  // 0 again: it could not write
    seen |= pid != 0;
    if (gone || double(clock_ns(CLOCK_MONOTONIC)) > deadline) return false;
    timespec pause{0, 2'000'000};
    nanosleep(&pause, nullptr);
  }
  return true;
}

void finisher_forget() { g_started.store(0); }

}  // namespace tprof
