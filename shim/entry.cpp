// What happens when the library is loaded: next to nothing. Torch processes are joined later, from the bootstrap
// (Python) or before main (C++), others at their first call into CUDA; all others pay for a few environment look-ups.
#include "collect/start/entry.h"
#include "collect/nvtx/inject.h"
#include "collect/start/attach.h"
#include "injection.h"

namespace tprof {
namespace {

__attribute__((constructor)) void loaded() {
  if (!enter_process()) return;
  injection_install();
  nvtx_offer(library_file(), nvtx_attach);
}

}  // namespace
}  // namespace tprof
