/* Asks whether CUDA and NCCL are here, as libraries do that can live without: by name, and by calling what it finds. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

int main(void) {
  int (*allocate)(void**, size_t) = (int (*)(void**, size_t))dlsym(RTLD_DEFAULT, "cudaMalloc");
  int (*start)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "ncclGroupStart");
  void* at = NULL;
  errno = 5;
  int works = (allocate && allocate(&at, 64) == 0) || (start && start() == 0);
  printf("CUDA %s, errno %d\n", works ? "works" : "is not here", errno);
  return 0;
}
