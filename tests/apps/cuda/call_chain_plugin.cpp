// What call_chain loads: run() -> NAME, which calls CUDA.
#include "cuda.h"

#define FRAME extern "C" __attribute__((noinline, noclone, visibility("default")))

FRAME void NAME() {
  void* made;
  CHECK(cudaMalloc(&made, 64));
  CHECK(cudaFree(made));
  asm volatile("" ::: "memory");
}
FRAME void run() {
  NAME();
  asm volatile("" ::: "memory");
}
