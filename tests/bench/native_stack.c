/* What the native stack of a CUDA call costs: launches below 36 functions of the program, in bursts, the median of all;
 * beside it glibc's backtrace() of the same stack. What the call itself costs is told by a run without native stacks.
 *
 *   LD_PRELOAD=build/shim/libtprof.so TPROF_WITH_STACK=native build/tests/native_stack [rounds]
 */
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct dim3 {
  unsigned x, y, z;
};
int cudaLaunchKernel(const void*, struct dim3, struct dim3, void**, size_t, void*);

enum { kBurst = 200, kDepth = 36, kMost = 100 };

static char kernel[8];
static const struct dim3 grid = {64, 1, 1}, block = {256, 1, 1};
static int frames;

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Two places in turn, as a loop of operators has. */
static double launches(void) {
  double begin = now_ns();
  for (int i = 0; i < kBurst / 2; i++) {
    cudaLaunchKernel(kernel, grid, block, NULL, 0, NULL);
    cudaLaunchKernel(kernel + 1, grid, block, NULL, 0, NULL);
  }
  return (now_ns() - begin) / kBurst;
}

static double backtraces(void) {
  void* at[kMost];
  double begin = now_ns();
  for (int i = 0; i < kBurst; i++) frames = backtrace(at, kMost);
  return (now_ns() - begin) / kBurst;
}

static int by_size(const void* x, const void* y) {
  double a = *(const double*)x, b = *(const double*)y;
  return a < b ? -1 : a > b;
}

static void median(const char* what, double (*burst)(void), int rounds) {
  double* ns = malloc(rounds * sizeof *ns);
  burst();
  for (int i = 0; i < rounds; i++) ns[i] = burst();
  qsort(ns, rounds, sizeof *ns, by_size);
  printf("%s %.1f ns\n", what, ns[rounds / 2]);
  free(ns);
}

__attribute__((noinline)) static void below(int depth, int rounds) {
  volatile int here = depth;
  (void)here;
  if (depth > 0) {
    below(depth - 1, rounds);
  } else {
    median("launch", launches, rounds);
    median("backtrace", backtraces, rounds);
  }
  here = 0;
}

int main(int argc, char** argv) {
  below(kDepth, argc > 1 ? atoi(argv[1]) : 1000);
  printf("frames %d ns\n", frames);
  return 0;
}
