// One thread closes a library again and again, after which tprof looks at what is mapped, while the main thread forks.
// Each child loads a library, which waits for ever if its parent forked in the middle of such a look: the lock of the
// loader's list is not free in the child. Bare, none does: the library that is closed stays.
//   forks_beside_dlclose FORKS
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nvtx_own.h"

static void* close_again(void* nothing) {
  for (;;) dlclose(dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD));
  return nothing;
}

int main(int argc, char** argv) {
  int forks = argc > 1 ? atoi(argv[1]) : 100, hung = 0;
  nvtxInitialize(NULL);  // from here on the program is recorded
  nvtxRangePushA("work");
  nvtxRangePop();
  pthread_t thread;
  pthread_create(&thread, NULL, close_again, NULL);
  for (int i = 0; i < forks && !hung; i++) {
    pid_t child = fork();
    if (child == 0) {
      alarm(30);
      _exit(!dlopen("libresolv.so.2", RTLD_NOW));
    }
    int status;
    waitpid(child, &status, 0);
    hung = status != 0;
  }
  puts(hung ? "a child hung" : "all children went on");
  return 0;
}
