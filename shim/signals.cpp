// Setting and querying the handler of SIGBUS by the program while a recording is written. See
// collect/session/bus_guard.h.
#include <errno.h>

#include "collect/session/bus_guard.h"
#include "export.h"
#include "libc.h"

namespace tprof {
namespace {

// Sets a handler as signal() and its variants do.
Handler set_handler(Handler handler, int flags, bool masks_itself) {
  if (handler == SIG_ERR) return errno = EINVAL, SIG_ERR;
  struct sigaction set {
  }, was;
  set.sa_handler = handler;
  set.sa_flags = flags;
  if (masks_itself) sigaddset(&set.sa_mask, SIGBUS);
  return bus_guard_action(libc().sigaction, &set, &was) == 0 ? was.sa_handler : SIG_ERR;
}

}  // namespace
}  // namespace tprof

extern "C" EXPORT int sigaction(int signal, const struct sigaction* set, struct sigaction* was) noexcept {
  auto real = tprof::libc().sigaction;
  return signal == SIGBUS ? tprof::bus_guard_action(real, set, was) : real(signal, set, was);
}

#define SIGNAL(name, flags, masks_itself)                                              \
  extern "C" EXPORT tprof::Handler name(int signal, tprof::Handler handler) noexcept { \
    if (signal == SIGBUS) return tprof::set_handler(handler, flags, masks_itself);     \
    return tprof::libc().name(signal, handler);                                        \
  }
#include "libc.def"
