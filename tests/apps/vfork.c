// A child made with vfork, which shares the parent's memory until it execs; one that execs and one that exits.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int status_of(pid_t pid) {
  int status;
  if (waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
}

int vfork_and_exec(void) {
  pid_t pid = vfork();
  if (pid == 0) {
    execl("/bin/sh", "sh", "-c", "exit 4", (char*)0);
    _exit(127);
  }
  int status = status_of(pid);
  pid = vfork();
  if (pid == 0) _exit(9);
  return status_of(pid) == 9 ? status : -3;
}
