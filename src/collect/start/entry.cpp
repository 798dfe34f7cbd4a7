#include "collect/start/entry.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include <atomic>

#include "base/glibc_only.h"
#include "base/loaded.h"
#include "base/log.h"
#include "collect/cuda/mux.h"
#include "collect/interpreter/codes.h"
#include "collect/nvtx/names.h"
#include "collect/python/bootstrap.h"
#include "collect/session/session.h"
#include "collect/start/attach.h"
#include "collect/torch/backward.h"

namespace tprof {
namespace {

enum class Entered : u32 { not_yet, aside, ready };
std::atomic<Entered> g_entered{Entered::not_yet};
SpinLock g_entry_lock;

void before_fork() {
  g_session.fork_prepare();
  hold_walks();
}
void in_child() {
  forget_walks();
  cuda_attach_forget();
  mux_forget();
  g_session.fork_child();
  backward_forget();
  nvtx::reset_names_in_child();
  reset_codes_in_child();
}

const char* g_file = "";

void remember_file(const char* name) {
  static char absolute[PATH_MAX];
  if (const char* from_root = strstr(name, kToRoot)) name = from_root + strlen(kToRoot);
  g_file = name[0] == '/' ? name : realpath(name, absolute) ? absolute : "";
}

constexpr char loaded_at = 0;  // an address in this library

// Whether this library was preloaded: then it comes before libc in the list of loaded objects. If it was loaded later
// (by NVTX, in a process that inherited NVTX_INJECTION64_PATH but not LD_PRELOAD), it does nothing: Python runs
// already, and the exits are not hooked. Remembers the library's file, which the list names.
bool preloaded() {
  int (*look)(dl_phdr_info*, size_t, void*) = [](dl_phdr_info* info, size_t, void*) {
    const char* slash = strrchr(info->dlpi_name, '/');
    if (slash && !strncmp(slash + 1, "libc.so", 7)) return 2;
    for (int i = 0; i < info->dlpi_phnum; i++) {
      auto from = reinterpret_cast<uintptr_t>(&loaded_at) - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr;
      if (info->dlpi_phdr[i].p_type != PT_LOAD || from >= info->dlpi_phdr[i].p_memsz) continue;
      remember_file(info->dlpi_name);
      return 1;
    }
    return 0;
  };
  return walk_loaded(look, nullptr) == 1;
}

bool is_ours() {
  if (getauxval(AT_SECURE) || !preloaded()) return false;
  const char* off = getenv("TPROF_DISABLE");
  return !off || strcmp(off, "1") != 0;
}

}  // namespace

bool enter_process() {
  Entered entered = g_entered.load(std::memory_order_acquire);
  if (entered != Entered::not_yet) return entered == Entered::ready;
  SpinGuard guard(g_entry_lock);
  if (g_entered.load() != Entered::not_yet) return g_entered.load() == Entered::ready;
  bool ours = is_ours();
  if (ours) {
    init_log();
    remember_start_directory();
    python_install();
    pthread_atfork(before_fork, release_walks, in_child);
  }
  g_entered.store(ours ? Entered::ready : Entered::aside, std::memory_order_release);
  return ours;
}

const char* library_file() { return g_file; }

}  // namespace tprof
