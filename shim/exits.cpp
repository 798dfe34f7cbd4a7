// The ways out of a process, wrapped so that the last window is closed before anything is torn down: return from
// main, and the exit family. (An atexit handler of tprof would run after all static destructors, since a preloaded
// library's constructor runs first.) The finisher handles all other ways in which a process can end, and what was not
// closed within the limit of a way.
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "collect/interpreter/inittab.h"
#include "collect/session/session.h"
#include "collect/torch/attach.h"
#include "export.h"
#include "injection.h"
#include "libc.h"

namespace tprof {
namespace {

Main g_main;

// Tells the user why nothing was recorded if torch was loaded and tprof could not attach.
void explain_absence() {
  if (g_session.attached() || python_process() || !torch_mapped()) return;
  say("torch was loaded by a program that tprof cannot attach to (not Python 3.8+, and not linked with libtorch); "
      "nothing was recorded");
}

void close_down(u64 limit_ns) {
  if (limit_ns == kPatient_ns) injection_explain();
  g_session.finish(limit_ns);
}

int our_main(int argc, char** argv, char** envp) {
  if (!python_process()) torch_attach_native();
  int status = g_main(argc, argv, envp);
  explain_absence();
  close_down(kPatient_ns);
  return status;
}

[[noreturn]] void end_process(int status) {
  for (;;) syscall(SYS_exit_group, status);
}

}  // namespace
}  // namespace tprof

extern "C" EXPORT int __libc_start_main(tprof::Main main, int argc, char** argv, tprof::Main init, void (*fini)(),
                                        void (*rtld_fini)(), void* stack_end) {
  tprof::g_main = main;
  return tprof::libc().__libc_start_main(tprof::our_main, argc, argv, init, fini, rtld_fini, stack_end);
}

#define EXIT(name, limit_ns)                                          \
  extern "C" EXPORT __attribute__((noreturn)) void name(int status) { \
    tprof::close_down(tprof::limit_ns);                               \
    if (auto real = tprof::libc().name) real(status);                 \
    tprof::end_process(status);                                       \
  }
#include "libc.def"
