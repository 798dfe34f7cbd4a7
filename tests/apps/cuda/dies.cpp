// dies HOW: launches kernels of 0.2 s, and ends while they run: return, exit, _exit, abort or kill.
#include <signal.h>
#include <unistd.h>

#include <cstring>

#include "cuda.h"

KERNEL(long_kernel, 16, 0, 0, 0, 200000000, {}) { (void)arguments, (void)grid, (void)block, (void)shared; }

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "return";
  const void* kernel = reinterpret_cast<const void*>(simk_long_kernel);
  void* nothing = nullptr;
  CHECK(cudaLaunchKernel(kernel, {1, 1, 1}, {32, 1, 1}, &nothing, 0, nullptr));
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < 3; i++) CHECK(cudaLaunchKernel(kernel, {1, 1, 1}, {32, 1, 1}, &nothing, 0, nullptr));
  printf("dies: %s\n", how);
  fflush(stdout);
  if (strcmp(how, "exit") == 0) exit(3);
  if (strcmp(how, "_exit") == 0) _exit(4);
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "kill") == 0) kill(getpid(), SIGKILL);
  return 5;
}
