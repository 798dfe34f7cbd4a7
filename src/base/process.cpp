#include "base/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/uncancelled.h"

namespace tprof {

int read_small_file(const char* path, char* buffer, int size) {
  Uncancelled uncancelled;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  int used = 0;
  for (ssize_t n; used < size - 1 && (n = read(fd, buffer + used, size - 1 - used)) > 0;) used += int(n);
  close(fd);
  buffer[used] = 0;
  return used;
}

ProcessIdentity process_identity(int pid) {
  ProcessIdentity id;
  char path[64], text[1024];
  int n = read_small_file("/proc/sys/kernel/random/boot_id", text, sizeof text);
  for (int i = 0; i < n && i < int(sizeof id.boot_id) - 1 && text[i] > ' '; i++) id.boot_id[i] = text[i];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  if (read_small_file(path, text, sizeof text) <= 0) return id;
  // pid (comm, may hold anything) state ppid ...: field 3 is the first after the last ')'.
  const char* at = strrchr(text, ')');
  if (!at || !at[1]) return id;
  at += 2;
  if (*at == 'Z' || *at == 'X') return id;
  for (int field = 3; field < 22 && at; field++) {
    at = strchr(at, ' ');
    if (at) at++;
  }
  if (at) id.start_time = strtoull(at, nullptr, 10);
  return id;
}

}  // namespace tprof
