// A C program that makes steps without a pause while a signal handler forks at any moment, as crash reporters do.
//   forks_in_handler FORKS
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <tprof/tprof.h>
#include <unistd.h>

#include "nvtx_own.h"

static volatile sig_atomic_t g_left;

// Once, so that the program goes on however long the handler takes.
static void set_timer(void) {
  struct itimerval soon = {{0, 0}, {0, 300 + rand() % 300}};
  setitimer(ITIMER_REAL, &soon, NULL);
}

static void handler(int number) {
  (void)number;
  pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, NULL, 0);
  if (--g_left > 0) set_timer();
}

int main(int argc, char** argv) {
  g_left = argc > 1 ? atoi(argv[1]) : 100;
  nvtxInitialize(NULL);  // from here on the program is recorded
  signal(SIGALRM, handler);
  set_timer();
  while (g_left > 0) {
    tprof_step();
    nvtxRangePushA("work");
    nvtxRangePop();
  }
  puts("done");
  return 0;
}
