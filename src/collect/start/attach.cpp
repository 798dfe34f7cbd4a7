#include "collect/start/attach.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <initializer_list>

#include "base/uncancelled.h"
#include "collect/cuda/call.h"
#include "collect/cuda/cupti.h"
#include "collect/interpreter/frames.h"
#include "collect/recorder/thread.h"
#include "collect/session/session.h"
#include "collect/start/entry.h"
#include "collect/torch/attach.h"

namespace tprof {
namespace {

// Set-up that the first call of a kind does, once in the process.
struct FirstCall {
  enum State : u32 { none, running, done };
  std::atomic<u32> state{none};
  std::atomic<u32> tid{0};  // the thread that does the set-up
};
FirstCall g_cuda, g_nvtx;
SpinLock g_session_lock;

// The environment may only be written while no other thread can read it.
bool only_thread() {
  struct stat tasks;
  return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 3;
}

// Without a framework, steps come from TPROF_STEP or tprof_step() only.
bool begin_session() {
  SpinGuard guard(g_session_lock);
  if (g_session.attached()) return true;
  if (!g_session.attach({}, StepMode::automatic) || !init_threads()) return false;
  g_session.note_command();
  g_session.capability("steps", false, "a program without PyTorch has the steps that tprof_step() or TPROF_STEP name");
  python_stacks_note();
  if (only_thread()) g_session.export_environment();
  g_session.start();
  return true;
}

// With torch the session starts, or has started, in collect/torch/attach.
bool join() {
  if (!enter_process()) return false;
  return torch_mapped() || begin_session();
}

void first_cuda_call() {
  Options options;
  OptionError error;
  if (parse_options(options, error) && !strstr(options.activities.value, "cuda")) {
    calls_switch_off();
    return;
  }
  if (!join()) return;
  g_session.capability("cuda_calls", true, "");
  cupti_wanted();
}

void first_nvtx_call() { join(); }

// Another thread does the set-up: waits a moment, so that this thread's first call is recorded, but not for ever, since
// that thread may wait for a lock that this one holds.
void wait_for_other(const FirstCall& first) {
  for (int i = 0; i < 1000 && first.state.load(std::memory_order_acquire) == FirstCall::running; i++) {
    timespec pause{0, 100'000};
    nanosleep(&pause, nullptr);
  }
}

__attribute__((noinline)) void make_first(FirstCall& first, void (*set_up)()) {
  Uncancelled uncancelled;
  int saved = errno;
  u32 none = FirstCall::none;
  if (first.state.compare_exchange_strong(none, FirstCall::running)) {
    first.tid.store(current_tid());
    u8 inside = t_self.inside;
    t_self.inside = 1;  // nothing that happens here is recorded
    set_up();
    first.state.store(FirstCall::done, std::memory_order_release);
    t_self.inside = inside;
  } else if (none == FirstCall::running && first.tid.load() != current_tid()) {
    wait_for_other(first);
  }
  errno = saved;
}

void at_first(FirstCall& first, void (*set_up)()) {
  if (first.state.load(std::memory_order_acquire) != FirstCall::done && !inside_tprof()) make_first(first, set_up);
}

}  // namespace

void cuda_attach() { at_first(g_cuda, first_cuda_call); }
void nvtx_attach() { at_first(g_nvtx, first_nvtx_call); }

void cuda_attach_forget() {
  g_session_lock.reset();
  for (FirstCall* first : {&g_cuda, &g_nvtx})
    if (first->state.load() == FirstCall::running) first->state.store(FirstCall::none);
}

}  // namespace tprof
