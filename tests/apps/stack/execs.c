// Starts itself again and again, from a thread beside others that sleep and wake: execs N [image]. Prints "ready" once
// the first image runs, and "done" in the last one.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void* sleeps(void* x) {
  for (;;) usleep(2000);
  return x;
}

int main(int argc, char** argv) {
  int left = argc > 1 ? atoi(argv[1]) : 0;
  pthread_t thread;
  for (int i = 0; i < 8; i++) pthread_create(&thread, 0, sleeps, 0);
  if (argc < 3) puts("ready");
  if (!left) puts("done");
  fflush(stdout);
  if (!left) _exit(0);
  usleep(20000);
  char text[16];
  snprintf(text, sizeof text, "%d", left - 1);
  execl(argv[0], argv[0], text, "again", (char*)0);
  return 1;
}
