#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/types.h"
#include "base/uncancelled.h"

namespace tprof {
namespace {
dev_t g_device;
ino_t g_inode;
bool g_open;
__thread bool t_apart __attribute__((tls_model("initial-exec")));

// A descriptor of this thread for descriptor 2 of the process; negative if the kernel is too old for that (before 5.6).
int borrow() {
  int process = int(syscall(SYS_pidfd_open, getpid(), 0));
  if (process < 0) return -1;
  // glibc 2.31 has no SYS_pidfd_getfd.
  int fd = int(syscall(__NR_pidfd_getfd, process, 2, 0));
  close(process);
  return fd;
}

// Values that are quoted must not act on the terminal: C0, DEL and, as UTF-8, C1 become question marks.
void hide_controls(char* text, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) {
    bool c1 = u8(text[i]) == 0xc2 && i + 1 < bytes && u8(text[i + 1]) >= 0x80 && u8(text[i + 1]) < 0xa0;
    if (c1 || u8(text[i]) < ' ' || text[i] == 0x7f) text[i] = '?';
    if (c1) text[++i] = '?';
  }
}

void write_line(int fd, const char* line, size_t bytes) {
  struct stat s;
  if (!g_open || fstat(fd, &s) != 0 || s.st_dev != g_device || s.st_ino != g_inode) return;
  if (write(fd, line, bytes) < 0) return;  // nowhere left to complain to
}
}  // namespace

void log_from_apart() { t_apart = true; }

void init_log() {
  struct stat s;
  g_open = fstat(2, &s) == 0;
  if (g_open) g_device = s.st_dev, g_inode = s.st_ino;
}

void say(const char* format, ...) {
  Uncancelled uncancelled;
  char line[1024] = "tprof: ";
  size_t used = strlen(line);
  va_list args;
  va_start(args, format);
  int n = vsnprintf(line + used, sizeof line - used - 1, format, args);
  va_end(args);
  if (n < 0) return;
  used = strnlen(line, sizeof line - 2);
  hide_controls(line, used);
  line[used++] = '\n';
  int fd = t_apart ? borrow() : 2;
  write_line(fd, line, used);
  if (t_apart && fd >= 0) close(fd);
}

}  // namespace tprof
