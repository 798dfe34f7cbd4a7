// Ends while another thread is in the constructor of a library, and with it in the loader's lock.
//   ends_beside_dlopen LIBRARY _exit|_Exit|quick_exit|handlers
// handlers: sets handlers of signals, as for a way out of its own, and ends.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void* load(void* library) { return dlopen(library, RTLD_NOW); }

int main(int argc, char** argv) {
  int reached[2];
  char number[16], one;
  if (argc < 3 || pipe(reached) != 0) return 1;
  snprintf(number, sizeof number, "%d", reached[1]);
  setenv("SLOW_LIBRARY_FD", number, 1);
  pthread_t thread;
  pthread_create(&thread, NULL, load, argv[1]);
  if (read(reached[0], &one, 1) != 1) return 1;
  puts("loading");
  fflush(stdout);
  const char* way = argv[2];
  if (!strcmp(way, "handlers")) {
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    signal(SIGUSR1, SIG_IGN);
    ssignal(SIGWINCH, SIG_IGN);
    sigaction(SIGUSR2, &ignore, NULL);
    sigaction(SIGBUS, &ignore, NULL);
  }
  if (!strcmp(way, "_Exit")) _Exit(3);
  if (!strcmp(way, "quick_exit")) quick_exit(3);
  _exit(3);
}
