// Threads that are to be cancelled (pthread_cancel) and reach tprof first: one opens the recording, the others need the
// first chunk of a thread. They end where the program lets them, and the main thread goes on making steps.
#include <pthread.h>
#include <stdio.h>
#include <tprof/tprof.h>
#include <unistd.h>

#include "nvtx_own.h"

static volatile int g_asked, g_left;

static void* first_step(void* nothing) {
  while (!g_asked) {
  }
  tprof_step();
  tprof_step();
  g_left++;
  pthread_testcancel();
  return nothing;
}

static void* first_range(void* nothing) {
  while (!g_asked) {
  }
  nvtxRangePushA("work");
  nvtxRangePop();
  g_left++;
  pthread_testcancel();
  return nothing;
}

static void run_cancelled(void* (*code)(void*)) {
  pthread_t thread;
  void* result;
  g_asked = g_left = 0;
  pthread_create(&thread, NULL, code, NULL);
  pthread_cancel(thread);
  g_asked = 1;
  pthread_join(thread, &result);
  printf("%s, %d left tprof\n", result == PTHREAD_CANCELED ? "cancelled" : "ended", g_left);
}

int main(void) {
  alarm(30);
  nvtxInitialize(NULL);  // from here on the program is recorded
  tprof_step();
  run_cancelled(first_step);
  for (int i = 0; i < 3; i++) run_cancelled(first_range);
  for (int i = 0; i < 5; i++) tprof_step();
  puts("done");
  return 0;
}
