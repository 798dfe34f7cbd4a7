/* What preloading libtprof.so costs a process that uses no torch: posix_spawn + wait of /bin/true, bare and preloaded
 * in turn. Prints medians in milliseconds, and the difference.
 *
 *   build/tests/exec_cost build/shim/libtprof.so [runs]
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

static double run_ms(char** environment) {
  char* argv[] = {"/bin/true", NULL};
  struct timespec a, b;
  pid_t pid;
  int status;
  clock_gettime(CLOCK_MONOTONIC, &a);
  if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environment) != 0 || waitpid(pid, &status, 0) != pid ||
      status != 0) {
    fprintf(stderr, "exec_cost: /bin/true cannot be run\n");
    exit(1);
  }
  clock_gettime(CLOCK_MONOTONIC, &b);
  return (b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) / 1e6;
}

static int by_size(const void* x, const void* y) {
  double a = *(const double*)x, b = *(const double*)y;
  return a < b ? -1 : a > b;
}

int main(int argc, char** argv) {
  int runs = argc > 2 ? atoi(argv[2]) : 400;
  if (argc < 2 || runs < 1) {
    fprintf(stderr, "usage: exec_cost LIBRARY [RUNS]\n");
    return 2;
  }
  char preload[4200];
  snprintf(preload, sizeof preload, "LD_PRELOAD=%s", argv[1]);
  char *bare[] = {"PATH=/bin", NULL}, *loaded[] = {"PATH=/bin", preload, NULL};
  double* ms[2] = {malloc(runs * sizeof(double)), malloc(runs * sizeof(double))};
  for (int i = 0; i < runs; i++) {
    ms[0][i] = run_ms(bare);
    ms[1][i] = run_ms(loaded);
  }
  for (int k = 0; k < 2; k++) qsort(ms[k], runs, sizeof(double), by_size);
  double a = ms[0][runs / 2], b = ms[1][runs / 2];
  printf("bare %.3f ms, preloaded %.3f ms, difference %.3f ms, ratio %.2f (medians of %d)\n", a, b, b - a, b / a, runs);
  return 0;
}
