#include "injection.h"

#include <stdlib.h>
#include <string.h>

#include "base/elf.h"
#include "base/log.h"
#include "collect/cuda/cupti.h"
#include "collect/session/session.h"
#include "collect/start/attach.h"
#include "collect/start/entry.h"
#include "export.h"

namespace tprof {
namespace {

constexpr char kVariable[] = "CUDA_INJECTION64_PATH";
constexpr char kNcclVariable[] = "NCCL_PROFILER_PLUGIN";
constexpr size_t kNcclLongest = 254;  // NCCL cuts longer paths
bool g_ours;                          // the variable names this very library, which was preloaded
bool g_foreign;                       // another tool

}  // namespace

void injection_install() {
  const char *us = library_file(), *set = getenv(kVariable);
  if (!*us) return;
  g_foreign = set && *set && strcmp(set, us) != 0;
  g_ours = !g_foreign && setenv(kVariable, us, 1) == 0;
  if (strlen(us) <= kNcclLongest) setenv(kNcclVariable, us, 0);
}

void injection_explain() {
  if (!g_foreign || cupti_seen() || !(g_session.speaks() || !g_session.attached())) return;
  if (!ElfObject::mapped("libcuda.so").found()) return;
  say("%s names another tool (%s) and is left as it is: what this program does on the GPU was not recorded", kVariable,
      getenv(kVariable) ? getenv(kVariable) : "");
}

}  // namespace tprof

// Called inside cuInit. Returns 1 for success.
extern "C" EXPORT int InitializeInjection(void) {
  if (!tprof::g_ours) return 1;
  tprof::cuda_attach();
  tprof::cupti_wanted();
  return 1;
}
