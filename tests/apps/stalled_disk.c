// A program whose log directory does not answer any more, as a network file system whose server is gone: from a moment
// on, whoever opens a recording or asks for its state waits for ever. The functions are this program's own, which come
// before libc's. It is recorded until tprof's helper thread waits there.
//   stalled_disk _exit|quick_exit|exit|fall [fork]
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nvtx_own.h"

static volatile int g_stalled, g_waits;

static void wait_for_server(const char* path) {
  if (!g_stalled || !strstr(path, ".tprof")) return;
  g_waits = 1;
  for (;;) syscall(SYS_pause);
}

int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  int mode = va_arg(more, int);
  va_end(more);
  wait_for_server(path);
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int openat64(int directory, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  int mode = va_arg(more, int);
  va_end(more);
  wait_for_server(path);
  return (int)syscall(SYS_openat, directory, path, flags, mode);
}

int stat64(const char* path, struct stat64* out) {
  wait_for_server(path);
  return fstatat64(AT_FDCWD, path, out, 0);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

static void work(int ranges) {
  for (int i = 0; i < ranges; i++) {
    nvtxRangePushA("work");
    nvtxRangePop();
  }
  usleep(1000);
}

int main(int argc, char** argv) {
  const char* way = argc > 1 ? argv[1] : "fall";
  nvtxInitialize(NULL);  // from here on the program is recorded
  work(100);
  usleep(300000);  // chunks are ready
  g_stalled = getenv("LD_PRELOAD") != NULL;
  while (g_stalled && !g_waits) work(100);
  puts("stalled");
  for (int forks = 0; argc > 2 && forks < 2; forks++) {
    double began = now();
    pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, NULL, 0);
    fprintf(stderr, "forked after %.3f\n", now() - began);
  }
  fflush(stdout);
  fprintf(stderr, "ends at %.3f\n", now());
  if (!strcmp(way, "_exit")) _exit(3);
  if (!strcmp(way, "quick_exit")) quick_exit(3);
  if (!strcmp(way, "exit")) exit(3);
  return 3;
}
