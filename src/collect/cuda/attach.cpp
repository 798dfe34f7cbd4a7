#include "collect/cuda/attach.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "collect/call.h"
#include "collect/cuda/cupti.h"
#include "collect/entry.h"
#include "collect/session.h"
#include "collect/thread.h"
#include "collect/torch/attach.h"

namespace tprof {
namespace {

enum class Attach : u32 { none, running, done };
std::atomic<Attach> g_attach{Attach::none};
std::atomic<u32> g_attaching{0};  // tid

// The environment may be written while no other thread can read it.
bool only_thread() {
  struct stat tasks;
  return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 3;
}

// No step source is known without a framework: whoever wants steps says so by TPROF_STEP or tprof_step().
bool begin_session() {
  if (!g_session.attach({}, StepMode::automatic) || !init_threads()) return false;
  g_session.note_command();
  g_session.capability("steps", false, "a CUDA program without PyTorch has the steps that tprof_step() or TPROF_STEP name");
  if (only_thread()) g_session.export_environment();
  g_session.start();
  return true;
}

// False: nothing of CUDA is to be recorded in this process.
bool attach() {
  if (!enter_process()) return false;
  Options options;
  OptionError error;
  if (parse_options(options, error) && !strstr(options.activities.value, "cuda")) {
    g_calls_off.store(true);
    return false;
  }
  if (!torch_mapped() && !begin_session()) return false;
  g_session.capability("cuda_calls", true, "");
  return true;
}

// Another thread is at it: a moment, so that this one's first call is seen; not for ever, who knows what it holds.
void wait_for_other() {
  for (int i = 0; i < 1000 && g_attach.load(std::memory_order_acquire) == Attach::running; i++) {
    timespec pause{0, 100'000};
    nanosleep(&pause, nullptr);
  }
}

__attribute__((noinline)) void first_call() {
  int saved = errno;
  Attach none = Attach::none;
  if (g_attach.compare_exchange_strong(none, Attach::running)) {
    g_attaching.store(current_tid());
    u8 inside = t_self.inside;
    t_self.inside = 1;  // what we do here is no event
    bool wanted = attach();
    g_attach.store(Attach::done, std::memory_order_release);
    if (wanted) cupti_wanted();
    t_self.inside = inside;
  } else if (none == Attach::running && g_attaching.load() != current_tid()) {
    wait_for_other();
  }
  errno = saved;
}

}  // namespace

void cuda_attach() {
  if (g_attach.load(std::memory_order_acquire) != Attach::done && !inside_tprof()) first_call();
}

}  // namespace tprof
