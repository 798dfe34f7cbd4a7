// Setting and querying the handler of SIGBUS by the program while a recording is written. See
// collect/session/bus_guard.h.
#include <dlfcn.h>
#include <errno.h>

#include <atomic>

#include "collect/session/bus_guard.h"
#include "export.h"

namespace tprof {
namespace {

using Handler = void (*)(int);
using SetHandler = Handler (*)(int, Handler);

template <class Function>
Function real(std::atomic<Function>& known, const char* name) {
  Function found = known.load(std::memory_order_relaxed);
  if (!found) known.store(found = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name)), std::memory_order_relaxed);
  return found;
}

SetAction real_action() {
  static constinit std::atomic<SetAction> known{nullptr};
  return real(known, "sigaction");
}

// Sets a handler as signal() and its variants do.
Handler set_handler(Handler handler, int flags, bool masks_itself) {
  if (handler == SIG_ERR) return errno = EINVAL, SIG_ERR;
  struct sigaction set {
  }, was;
  set.sa_handler = handler;
  set.sa_flags = flags;
  if (masks_itself) sigaddset(&set.sa_mask, SIGBUS);
  return bus_guard_action(real_action(), &set, &was) == 0 ? was.sa_handler : SIG_ERR;
}

}  // namespace
}  // namespace tprof

extern "C" EXPORT int sigaction(int signal, const struct sigaction* set, struct sigaction* was) noexcept {
  auto real = tprof::real_action();
  return signal == SIGBUS ? tprof::bus_guard_action(real, set, was) : real(signal, set, was);
}

#define SET_HANDLER(name, flags, masks_itself)                                         \
  extern "C" EXPORT tprof::Handler name(int signal, tprof::Handler handler) noexcept { \
    static constinit std::atomic<tprof::SetHandler> known{nullptr};                    \
    if (signal == SIGBUS) return tprof::set_handler(handler, flags, masks_itself);     \
    return tprof::real(known, #name)(signal, handler);                                 \
  }
SET_HANDLER(signal, SA_RESTART, true)
SET_HANDLER(bsd_signal, SA_RESTART, true)
SET_HANDLER(ssignal, SA_RESTART, true)
SET_HANDLER(sysv_signal, int(SA_RESETHAND) | SA_NODEFER, false)
SET_HANDLER(__sysv_signal, int(SA_RESETHAND) | SA_NODEFER, false)
