// Preloaded: what the process gets from its peers by recv() (gloo's data) comes SLOW_READS_US late.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

ssize_t recv(int fd, void* to, size_t size, int flags) {
  static ssize_t (*real)(int, void*, size_t, int);
  if (!real) real = (ssize_t(*)(int, void*, size_t, int))dlsym(RTLD_NEXT, "recv");
  ssize_t n = real(fd, to, size, flags);
  const char* late = getenv("SLOW_READS_US");
  if (n > 0 && late) usleep((useconds_t)atoi(late));
  return n;
}
