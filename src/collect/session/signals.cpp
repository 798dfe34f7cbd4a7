#include "collect/session/signals.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "collect/session/helper.h"
#include "collect/session/session.h"

namespace tprof {
namespace {

int g_signal;

void handle(int) {
  int saved = errno;
  if (!helper_request_flush() && !g_session.ask_by_signal()) {
    static const char line[] = "tprof: no window is open; there is nothing to write\n";
    (void)!write(2, line, sizeof line - 1);
  }
  errno = saved;
}

}  // namespace

void signals_install(int signal) {
  struct sigaction now {};
  if (signal == 0 || g_signal || sigaction(signal, nullptr, &now) != 0) return;
  if ((now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_DFL)
    return;  // the program has a handler, or ignores it on purpose
  struct sigaction ours {};
  ours.sa_handler = handle;
  ours.sa_flags = SA_RESTART;
  sigemptyset(&ours.sa_mask);
  if (sigaction(signal, &ours, nullptr) == 0) g_signal = signal;
}

void signals_forget() {
  struct sigaction now {};
  if (g_signal == 0) return;
  if (sigaction(g_signal, nullptr, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == handle) {
    now.sa_handler = SIG_DFL;
    sigaction(g_signal, &now, nullptr);
  }
  g_signal = 0;
}

}  // namespace tprof
