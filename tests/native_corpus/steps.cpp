// Single steps: with the processor's trap flag set, a SIGTRAP follows each instruction, the handler's own excepted. So
// every place of the functions that run is looked at: prologues, epilogues, stubs of the linker, the vdso.
#include <signal.h>
#include <ucontext.h>

#include "native_corpus/oracle.h"

namespace tprof::oracle {
namespace {

constexpr greg_t kTrapFlag = 0x100;

u64 g_steps, g_all, g_each, g_most;
bool g_stepping;
__thread bool t_pause;

void on_trap(int, siginfo_t*, void* at) {
  auto& context = *static_cast<ucontext_t*>(at);
  if (!stepping() || t_pause) {
    t_pause = false;
    context.uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
    return;
  }
  u64 step = __atomic_fetch_add(&g_steps, 1, __ATOMIC_RELAXED);
  if (step >= g_most) context.uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
  if (step < g_all || step % g_each == 0) look_by_signal();
}

}  // namespace

void start_steps(u64 all, u64 each, u64 most) {
  struct sigaction action {};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGTRAP, &action, nullptr);
  g_steps = 0;
  g_all = all;
  g_each = each;
  g_most = most;
  __atomic_store_n(&g_stepping, true, __ATOMIC_RELAXED);
  step_from_here();
}

void stop_steps() { __atomic_store_n(&g_stepping, false, __ATOMIC_RELAXED); }

bool stepping() { return __atomic_load_n(&g_stepping, __ATOMIC_RELAXED); }

void step_from_here() {
  if (stepping()) asm volatile("pushf; orq $0x100, (%%rsp); popf" ::: "memory", "cc");
}

void pause_steps() {
  t_pause = stepping();  // the handler of the next instruction sees it
  asm volatile("" ::: "memory");
}

u64 steps_done() { return g_steps; }

}  // namespace tprof::oracle
