#include "collect/cuda/attach.h"

#include "collect/python/bootstrap.h"
#include "collect/session.h"
#include "collect/thread.h"
#include "collect/torch/attach.h"

namespace tprof {

void cuda_attach() {
  static std::atomic<bool> done{false};
  if (g_session.attached() || inside_tprof() || done.exchange(true)) return;
  if (torch_mapped()) {
    if (!python_process()) torch_attach_native();
    return;
  }
  t_self.inside = 1;
  bool attached = g_session.attach({}, StepMode::automatic) && init_threads();
  t_self.inside = 0;
  if (attached) g_session.start();
}

}  // namespace tprof
