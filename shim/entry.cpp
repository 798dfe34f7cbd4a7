// What happens when the library is loaded: next to nothing. Torch processes are joined later, from the bootstrap
// (Python) or before main (C++); all others pay for a few environment look-ups.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/clock.h"
#include "base/log.h"
#include "collect/python/bootstrap.h"
#include "collect/session.h"
#include "collect/torch/backward.h"

namespace tprof {
namespace {

void before_fork() { g_session.fork_prepare(); }
void in_child() {
  g_session.fork_child();
  backward_forget();
}

__attribute__((constructor)) void loaded() {
  if (getauxval(AT_SECURE)) return;  // set-uid: not our business
  const char* off = getenv("TPROF_DISABLE");
  if (off && !strcmp(off, "1")) return;
  init_log();
  init_clock();
  remember_start_directory();
  python_install();
  pthread_atfork(before_fork, nullptr, in_child);
}

}  // namespace
}  // namespace tprof
