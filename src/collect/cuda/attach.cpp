#include "collect/cuda/attach.h"

#include "base/process.h"
#include "collect/session.h"
#include "collect/thread.h"
#include "collect/torch/attach.h"

namespace tprof {

void cuda_attach() {
  static std::atomic<bool> done{false};
  if (g_session.attached() || torch_mapped() || done.exchange(true)) return;
  if (!g_session.attach({}, StepMode::automatic) || !init_threads()) return;
  char command[4096];
  int n = read_small_file("/proc/self/cmdline", command, sizeof command);
  for (int i = 0; i < n - 1; i++)
    if (!command[i]) command[i] = ' ';
  if (n > 0) g_session.note("command", command);
  g_session.start();
}

}  // namespace tprof
