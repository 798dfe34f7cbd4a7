#include "collect/start/profiler_range.h"

#include "collect/recorder/thread.h"
#include "collect/session/session.h"
#include "collect/start/attach.h"

namespace tprof {

void cuda_profiler_range(bool start) {
  cuda_attach();
  ThreadBlock* block = g_session.attached() ? enter() : nullptr;
  if (!block) return;
  g_session.profiler_range(start);
  leave(block);
}

}  // namespace tprof
