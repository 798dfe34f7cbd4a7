// A library whose constructor never ends, so that the thread that loads it holds the loader's lock. It says on the
// descriptor SLOW_LIBRARY_FD that it was reached.
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void never_ends(void) {
  if (write(atoi(getenv("SLOW_LIBRARY_FD")), "", 1) != 1) _exit(9);
  for (;;) pause();
}
