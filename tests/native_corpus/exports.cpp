// What the functions of the corpus call, see checkpoint.h.
#include <signal.h>

#include "native_corpus/oracle.h"

extern "C" {
#include "native_corpus/checkpoint.h"
}

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace oracle = tprof::oracle;

// Where each instruction is looked at, it need not, and must not: libunwind blocks signals.
EXPORT void checkpoint() {
  if (!oracle::stepping()) oracle::look();
}

EXPORT void thread_begins() {
  oracle::make_tables();
  looks_again();
}
EXPORT void thread_ends() { pause_looks(); }

EXPORT void looks_again() {
  oracle::t_quiet = false;
  oracle::step_from_here();
}
EXPORT void pause_looks() {
  oracle::pause_steps();
  oracle::t_quiet = true;
}

EXPORT void look_on_signal(int number, int flags) {
  struct sigaction action {};
  action.sa_flags = flags;
  action.sa_handler = [](int) { oracle::look(); };
  sigaction(number, &action, nullptr);
}
