// The constructor of the library does next to nothing. tprof attaches to a process with torch later, from the bootstrap
// (Python) or before main (C++), and to others at their first call into CUDA. All other processes pay for a few
// look-ups of libc's functions and in the environment.
#include "collect/start/entry.h"
#include "collect/nvtx/inject.h"
#include "collect/start/attach.h"
#include "injection.h"
#include "libc.h"

namespace tprof {
namespace {

__attribute__((constructor)) void loaded() {
  libc();
  if (!enter_process()) return;
  injection_install();
  nvtx_offer(library_file(), nvtx_attach);
}

}  // namespace
}  // namespace tprof
