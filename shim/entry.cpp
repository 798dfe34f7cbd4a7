// What happens when the library is loaded: next to nothing. Torch processes are joined later, from the bootstrap
// (Python) or before main (C++); all others pay for a few environment look-ups.
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/clock.h"
#include "base/log.h"
#include "collect/python/bootstrap.h"
#include "collect/session.h"
#include "collect/torch/backward.h"
#include "injection.h"

namespace tprof {
namespace {

constexpr char loaded_at = 0;  // an address in this library

void before_fork() { g_session.fork_prepare(); }
void in_child() {
  g_session.fork_child();
  backward_forget();
}

// Whether the loader brought us at the start: then we stand before libc. Loaded later (by the driver, in a process that
// inherited CUDA_INJECTION64_PATH but not LD_PRELOAD), we do nothing: Python runs already, and the ways out are not ours.
bool preloaded() {
  int (*look)(dl_phdr_info*, size_t, void*) = [](dl_phdr_info* info, size_t, void*) {
    const char* slash = strrchr(info->dlpi_name, '/');
    if (slash && !strncmp(slash + 1, "libc.so", 7)) return 2;
    for (int i = 0; i < info->dlpi_phnum; i++) {
      auto from = reinterpret_cast<uintptr_t>(&loaded_at) - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr;
      if (info->dlpi_phdr[i].p_type == PT_LOAD && from < info->dlpi_phdr[i].p_memsz) return 1;
    }
    return 0;
  };
  return dl_iterate_phdr(look, nullptr) == 1;
}

__attribute__((constructor)) void loaded() {
  if (!preloaded()) return;
  if (getauxval(AT_SECURE)) return;  // set-uid: not our business
  const char* off = getenv("TPROF_DISABLE");
  if (off && !strcmp(off, "1")) return;
  init_log();
  init_clock();
  remember_start_directory();
  python_install();
  injection_install();
  pthread_atfork(before_fork, nullptr, in_child);
}

}  // namespace
}  // namespace tprof
