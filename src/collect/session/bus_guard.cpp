#include "collect/session/bus_guard.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>

#include "collect/recorder/thread.h"
#include "record/mapping.h"
#include "record/writer.h"

// Asks the kernel for the action, past all interposers. Async-signal-safe.
extern "C" int __sigaction(int signal, const struct sigaction* set, struct sigaction* was);

namespace tprof {
namespace {

using Action = struct sigaction;

SpinLock g_lock;  // held while an action is set, with all signals blocked, so that no handler waits for its own thread
// The process in which the handler is installed: a vfork child shares this memory, but has actions of its own.
std::atomic<pid_t> g_owner{0};
// The program's action. The handler reads it without a lock, so earlier ones stay valid for a while.
constexpr u32 kKept = 16;
Action g_actions[kKept];
u32 g_next;
std::atomic<const Action*> g_program{nullptr};
Action g_spent;  // what SA_RESETHAND leaves after one signal

// The flags of the program's action that our own action takes over.
constexpr int kOurFlags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER | int(SA_RESETHAND);

void handle(int signal, siginfo_t* info, void* context);

// Compares the value alone, as the kernel does.
bool is_ours(const Action& action) { return action.sa_sigaction == handle; }
bool is_default(const Action& action) { return action.sa_handler == SIG_DFL; }
bool is_ignored(const Action& action) { return action.sa_handler == SIG_IGN; }

// Our action in place of the program's, whose handler then runs with the mask and on the stack that it asked for.
Action ours_for(const Action& program) {
  Action ours = program;
  ours.sa_sigaction = handle;
  ours.sa_flags = (program.sa_flags | SA_SIGINFO) & ~int(SA_RESETHAND);
  if (is_default(program)) ours.sa_flags = (ours.sa_flags & ~kOurFlags) | SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  return ours;
}

void publish(const Action& program) {
  Action& place = g_actions[g_next++ % kKept];
  place = program;
  g_program.store(&place, std::memory_order_release);
}

// Notes the program's action and sets ours in its place.
int take_place(SetAction real, const Action& program) {
  publish(program);
  Action ours = ours_for(program), kept;
  if (real(SIGBUS, &ours, nullptr) != 0) return -1;
  if (real(SIGBUS, nullptr, &kept) != 0) return 0;
  // The action as the kernel reports it: it may add a flag, and drops flags that it does not know.
  Action seen = program;
  seen.sa_flags = (kept.sa_flags & ~kOurFlags) | (program.sa_flags & kOurFlags);
  seen.sa_mask = kept.sa_mask;
  publish(seen);
  return 0;
}

class AllBlocked {
 public:
  AllBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
    g_lock.lock();
  }
  ~AllBlocked() {
    g_lock.unlock();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t before_;
};

// Restores the default action. The signal then comes again, because the fault repeats or because it is sent again, and
// kills the process.
void by_default(siginfo_t* info) {
  Action standard{};
  __sigaction(SIGBUS, &standard, nullptr);
  if (info->si_code <= 0) syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGBUS, info);
}

// Whether the program would not have this signal delivered to this thread, which is ours or blocks it.
bool is_unblocked_by_us() {
  return t_self.own || (t_self.block && t_self.block->busy.load() == (kInside | kBlocksBus));
}

// Somebody sent the signal, to the process while all of the program's threads block it, or to this thread.
void hand_back(siginfo_t* info, void* context) {
  sigaddset(&static_cast<ucontext_t*>(context)->uc_sigmask, SIGBUS);
  if (info->si_code == SI_TKILL)
    syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGBUS, info);
  else if (syscall(SYS_rt_sigqueueinfo, getpid(), SIGBUS, info) != 0)
    kill(getpid(), SIGBUS);  // only the main thread may repeat what kill() says of the sender
}

using Handler = void (*)(int, siginfo_t*, void*);

// The program's handler, which remains to be called; nullptr: none.
__attribute__((noinline)) Handler take(siginfo_t* info, void* context) {
  bool fault = info->si_code > 0;
  if (fault && replace_mapping(info->si_addr)) return nullptr;
  const Action* program = g_program.load(std::memory_order_acquire);
  if (!fault && is_unblocked_by_us()) return hand_back(info, context), nullptr;
  if (is_ignored(*program) && !fault) return nullptr;
  if (is_ignored(*program) || is_default(*program)) return by_default(info), nullptr;
  Handler handler = program->sa_sigaction;
  if (program->sa_flags & int(SA_RESETHAND)) {
    g_spent = *program;
    g_spent.sa_handler = SIG_DFL;
    g_program.store(&g_spent, std::memory_order_release);
    Action ours = ours_for(g_spent);
    __sigaction(SIGBUS, &ours, nullptr);
  }
  return handler;
}

// The program's handler is called last, with nothing of ours on the stack: it may unwind, or never return.
void handle(int signal, siginfo_t* info, void* context) {
  int saved = errno;
  Handler next = take(info, context);
  errno = saved;
  if (next) next(signal, info, context);
}

}  // namespace

void bus_guard_install() {
  Action was;
  if (g_owner.load() == getpid()) return;
  AllBlocked blocked;
  if (g_owner.load() == getpid() || __sigaction(SIGBUS, nullptr, &was) != 0) return;
  g_owner.store(getpid());
  if (is_ignored(was)) return;
  publish(was);
  Action ours = ours_for(was);
  if (__sigaction(SIGBUS, &ours, &was) == 0) publish(was);  // another thread may just have set one
}

void bus_guard_forget() {
  g_lock.reset();
  if (g_owner.load()) g_owner.store(getpid());
}

void bus_guard_own_thread() {
  t_self.own = 1;
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, SIGBUS);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
}

int bus_guard_action(SetAction real, const Action* set, Action* was) {
  if (g_owner.load() != getpid()) return real(SIGBUS, set, was);
  Action next, now;
  if (set) next = *set;
  {
    AllBlocked blocked;
    if (real(SIGBUS, nullptr, &now) != 0) return -1;
    if (is_ours(now)) now = *g_program.load();
    bool plain = set && (is_ignored(next) || is_ours(next));
    if (set && (plain ? real(SIGBUS, &next, nullptr) : take_place(real, next)) != 0) return -1;
  }
  if (was) *was = now;
  return 0;
}

}  // namespace tprof
