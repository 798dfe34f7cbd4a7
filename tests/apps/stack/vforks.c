// Waits N times for 15 ms in a way that nothing can interrupt (a parent of vfork), beside threads that sleep and wake.
// Prints how many milliseconds all of that took.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void* sleeps(void* x) {
  for (;;) usleep(1000);
  return x;
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

int main(int argc, char** argv) {
  int times = argc > 1 ? atoi(argv[1]) : 40;
  double all = 0;
  pthread_t thread;
  for (int i = 0; i < 12; i++) pthread_create(&thread, 0, sleeps, 0);
  puts("ready");
  fflush(stdout);
  getchar();  // who watches has begun
  for (int i = 0; i < times; i++) {
    double before = now_ms();
    pid_t child = vfork();
    if (!child) {
      usleep(15000);
      _exit(0);
    }
    all += now_ms() - before;
    waitpid(child, 0, 0);
  }
  printf("%.0f\n", all);
  fflush(stdout);
  _exit(0);
}
