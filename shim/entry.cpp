// What happens when the library is loaded: next to nothing. Torch processes are joined later, from the bootstrap
// (Python) or before main (C++); all others pay for a few environment look-ups.
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/clock.h"
#include "base/log.h"
#include "collect/nvtx/inject.h"
#include "collect/nvtx/names.h"
#include "collect/python/bootstrap.h"
#include "collect/session.h"
#include "collect/torch/backward.h"

extern "C" int tprof_active();

namespace tprof {
namespace {

void before_fork() { g_session.fork_prepare(); }
void in_child() {
  g_session.fork_child();
  backward_forget();
  nvtx::reset_names_in_child();
}

// Preloaded, or only opened because an injection variable outlived an LD_PRELOAD that somebody took away: then the process
// is not to be profiled. (Only of a preloaded library are the symbols global.)
bool preloaded() {
  void* global = dlopen(nullptr, RTLD_LAZY | RTLD_NOLOAD);
  return global && dlsym(global, "tprof_active") == reinterpret_cast<void*>(tprof_active);
}

__attribute__((constructor)) void loaded() {
  if (getauxval(AT_SECURE)) return;  // set-uid: not our business
  const char* off = getenv("TPROF_DISABLE");
  if (off && !strcmp(off, "1")) return;
  if (!preloaded()) return;
  init_log();
  init_clock();
  remember_start_directory();
  python_install();
  nvtx_offer();
  pthread_atfork(before_fork, nullptr, in_child);
}

}  // namespace
}  // namespace tprof
