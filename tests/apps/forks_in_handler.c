// A C program that makes steps and ranges without a pause while a signal handler forks, as crash reporters do.
//   forks_in_handler FORKS
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <tprof/tprof.h>
#include <unistd.h>

static volatile sig_atomic_t g_forks;

static void handler(int number) {
  (void)number;
  pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, NULL, 0);
  g_forks++;
}

int main(int argc, char** argv) {
  int wanted = argc > 1 ? atoi(argv[1]) : 100;
  signal(SIGALRM, handler);
  struct itimerval often = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &often, NULL);
  while (g_forks < wanted) {
    tprof_step();
    tprof_range_push("work");
    tprof_range_pop();
  }
  puts("done");
  return 0;
}
