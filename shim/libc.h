// The real functions behind the wrappers of libc's: those of libc, or of another preloaded library that comes after
// this one.
//
// All are looked up by the constructor, none when it is called. dlsym() waits for the loader's lock, which another
// thread holds for as long as the constructor of a library takes, and before glibc 2.34 it allocates; but handlers of
// signals set handlers and end the process.
#pragma once
#include <signal.h>

#include <atomic>

namespace tprof {

using Main = int (*)(int, char**, char**);
using Handler = void (*)(int);

struct Libc {
#define LIBC(result, name, parameters) result(*name) parameters;
#define EXIT(name, ...) void (*name)(int);
#define SIGNAL(name, ...) Handler (*name)(int, Handler);
#include "libc.def"
  std::atomic<bool> known;

  void look_up();
};
extern Libc g_libc;

// Constructors of libraries that the program links run before ours, and may call a wrapper.
inline const Libc& libc() {
  if (__builtin_expect(!g_libc.known.load(std::memory_order_acquire), 0)) g_libc.look_up();
  return g_libc;
}

}  // namespace tprof
