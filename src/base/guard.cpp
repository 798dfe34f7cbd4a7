#include "base/guard.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/types.h"

namespace tprof {
namespace {

sigjmp_buf g_jump;
volatile long g_thread;  // the probing thread, 0 outside a probe
struct sigaction g_before[2];

void on_fault(int signal, siginfo_t* info, void* context) {
  if (g_thread && syscall(SYS_gettid) == g_thread) siglongjmp(g_jump, 1);
  const struct sigaction& before = g_before[signal == SIGBUS];
  if (before.sa_flags & SA_SIGINFO) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) {
    struct sigaction standard = {};
    sigaction(signal, &standard, nullptr);  // the faulting instruction runs again and ends the process
  } else {
    before.sa_handler(signal);
  }
}

}  // namespace

bool run_guarded(void (*code)(void*), void* argument) {
  struct sigaction mine = {};
  mine.sa_sigaction = on_fault;
  mine.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&mine.sa_mask);
  sigaction(SIGSEGV, &mine, &g_before[0]);
  sigaction(SIGBUS, &mine, &g_before[1]);
  volatile bool completed = false;
  if (sigsetjmp(g_jump, 1) == 0) {
    g_thread = syscall(SYS_gettid);
    code(argument);
    completed = true;
  }
  g_thread = 0;
  sigaction(SIGSEGV, &g_before[0], nullptr);
  sigaction(SIGBUS, &g_before[1], nullptr);
  return completed;
}

}  // namespace tprof
