/* What an interposed CUDA call costs over the same call bare, in one process: passed through while nothing is recorded,
 * and recorded. Short bursts of each in turn, and a pause behind each, as a program that has work to do would make;
 * the median of all bursts.
 *
 *   LD_PRELOAD=build/shim/libtprof.so TPROF_AUTOSTART=0 build/tests/bench_calls [rounds]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tprof/tprof.h"

struct dim3 {
  unsigned x, y, z;
};
int cudaMemcpyAsync(void*, const void*, size_t, int, void*);
int bare_cudaMemcpyAsync(void*, const void*, size_t, int, void*);
int cudaLaunchKernel(const void*, struct dim3, struct dim3, void**, size_t, void*);
int bare_cudaLaunchKernel(const void*, struct dim3, struct dim3, void**, size_t, void*);

enum { kBurst = 1000, kPause_us = 200 };

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

static void pause_us(double us) {
  double end = now_ns() + us * 1e3;
  while (now_ns() < end) {
  }
}

static char from[64], to[64];
static const struct dim3 grid = {64, 1, 1}, block = {256, 1, 1};

/* ns per call of one burst */
#define BURST(name, call)                    \
  static double name(void) {                 \
    double begin = now_ns();                 \
    for (int i = 0; i < kBurst; i++) call;   \
    double ns = (now_ns() - begin) / kBurst; \
    pause_us(kPause_us);                     \
    return ns;                               \
  }
BURST(copy, cudaMemcpyAsync(to, from, sizeof to, 1, NULL))
BURST(bare_copy, bare_cudaMemcpyAsync(to, from, sizeof to, 1, NULL))
BURST(launch, cudaLaunchKernel(from, grid, block, NULL, 0, NULL))
BURST(bare_launch, bare_cudaLaunchKernel(from, grid, block, NULL, 0, NULL))

static int by_size(const void* x, const void* y) {
  double a = *(const double*)x, b = *(const double*)y;
  return a < b ? -1 : a > b;
}

static double median(double* values, int count) {
  qsort(values, count, sizeof *values, by_size);
  return values[count / 2];
}

static void compare(const char* what, double (*bare)(void), double (*ours)(void), int rounds) {
  double* ns = malloc(2 * rounds * sizeof *ns);
  for (int i = 0; i < rounds; i++) {
    ns[i] = bare();
    ns[rounds + i] = ours();
  }
  double a = median(ns, rounds), b = median(ns + rounds, rounds);
  printf("%s %.2f bare %.2f over %.2f ns\n", what, b, a, b - a);
  free(ns);
}

int main(int argc, char** argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 1000;
  copy(), launch();
  int active = tprof_active();
  compare("idle copy", bare_copy, copy, rounds);
  compare("idle launch", bare_launch, launch, rounds);
  if (active != 0 || tprof_start() != 0 || tprof_active() != 1) {
    fprintf(stderr, "bench_calls: wants libtprof.so preloaded, with TPROF_AUTOSTART=0\n");
    return 1;
  }
  copy(), launch();
  compare("recorded copy", bare_copy, copy, rounds);
  compare("recorded launch", bare_launch, launch, rounds);
  return 0;
}
