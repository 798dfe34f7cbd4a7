// Kernels in steps that tprof_step() ends; a kernel's grid is its step + 1.  steps STEPS LAUNCHES [drain]
// drain: waits for the GPU at the end of every step; without it the program ends while the GPU is at work.
#include <unistd.h>

#include <cstring>

#include "cuda.h"
#include "tprof/tprof.h"

KERNEL(work, 24, 0, 0, 4, 20000, {8}) { (void)arguments, (void)grid, (void)block, (void)shared; }

int main(int argc, char** argv) {
  int steps = argc > 1 ? atoi(argv[1]) : 10, launches = argc > 2 ? atoi(argv[2]) : 4;
  bool drain = argc > 3 && !strcmp(argv[3], "drain");
  void* memory;
  CHECK(cudaMalloc(&memory, 1024));
  for (int step = 0; step < steps; step++) {
    for (int i = 0; i < launches; i++)
      LAUNCH(work, (Dim3{unsigned(step + 1), 1, 1}), (Dim3{64, 1, 1}), 0, nullptr, memory);
    if (drain) CHECK(cudaDeviceSynchronize());
    usleep(30000);
    tprof_step();
  }
  printf("steps: %d of %d launches\n", steps, launches);
  return 0;
}
