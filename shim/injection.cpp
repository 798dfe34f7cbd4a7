#include "injection.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <atomic>

#include "base/elf.h"
#include "base/log.h"
#include "collect/cuda/cupti.h"
#include "collect/session/session.h"
#include "collect/start/attach.h"
#include "collect/start/entry.h"
#include "export.h"
#include "libc.h"

namespace tprof {
namespace {

constexpr char kVariable[] = "CUDA_INJECTION64_PATH";
constexpr char kNcclVariable[] = "NCCL_PROFILER_PLUGIN";
constexpr size_t kNcclLongest = 254;  // NCCL cuts longer paths

constinit std::atomic<const char*> g_us{nullptr};  // this library, which was preloaded

char* in_environment(const char* name) {
  if (g_libc.known.load(std::memory_order_acquire)) return g_libc.getenv(name);
  size_t length = strlen(name);  // before our constructor, and perhaps inside the look-up itself
  for (char** at = environ; at && *at; at++)
    if (!strncmp(*at, name, length) && (*at)[length] == '=') return *at + length + 1;
  return nullptr;
}

// The program's own value, or else our answer, where there is one. For the driver an empty value is none.
char* value_of(const char* name) {
  char* value = in_environment(name);
  const char* us = value && *value ? nullptr : g_us.load(std::memory_order_acquire);
  if (!us) return value;
  bool driver = !strcmp(name, kVariable);
  bool nccl = !value && !strcmp(name, kNcclVariable) && strlen(us) <= kNcclLongest;
  return driver || nccl ? const_cast<char*>(us) : value;
}

}  // namespace

void injection_install() {
  if (const char* us = library_file(); *us) g_us.store(us, std::memory_order_release);
}

void injection_explain() {
  const char *us = g_us.load(), *set = getenv(kVariable);
  bool foreign = us && set && strcmp(set, us) != 0;
  if (!foreign || cupti_seen() || !(g_session.speaks() || !g_session.attached())) return;
  if (!ElfObject::mapped("libcuda.so").found()) return;
  say("%s names another tool (%s) and is left as it is: what this program does on the GPU was not recorded", kVariable,
      set);
}

}  // namespace tprof

extern "C" EXPORT char* getenv(const char* name) noexcept { return tprof::value_of(name); }
extern "C" EXPORT char* secure_getenv(const char* name) noexcept {
  return getauxval(AT_SECURE) ? nullptr : tprof::value_of(name);
}

// Called inside cuInit. Returns 1 for success.
extern "C" EXPORT int InitializeInjection(void) {
  if (!tprof::g_us.load()) return 1;
  tprof::cuda_attach();
  tprof::cupti_wanted();
  return 1;
}
