#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tprof {
namespace {
dev_t g_device;
ino_t g_inode;
bool g_open;
}  // namespace

void init_log() {
  struct stat s;
  g_open = fstat(2, &s) == 0;
  if (g_open) g_device = s.st_dev, g_inode = s.st_ino;
}

void say(const char* format, ...) {
  struct stat s;
  if (!g_open || fstat(2, &s) != 0 || s.st_dev != g_device || s.st_ino != g_inode) return;
  char line[1024] = "tprof: ";
  size_t used = strlen(line);
  va_list args;
  va_start(args, format);
  int n = vsnprintf(line + used, sizeof line - used - 1, format, args);
  va_end(args);
  if (n < 0) return;
  used = strnlen(line, sizeof line - 2);
  line[used++] = '\n';
  if (write(2, line, used) < 0) return;  // nowhere left to complain to
}

}  // namespace tprof
