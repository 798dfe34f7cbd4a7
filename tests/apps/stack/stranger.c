// Looks to tprof like an interpreter of Python whose layout has to be found out: it defines what an interpreter
// defines, and marks nothing of it. Whoever starts it in another way than the tests do is told on: MARK gets a line.
//   stranger waits             until it is killed
//   stranger becomes PROGRAM   until somebody opens its file: then it executes PROGRAM
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

char _PyRuntime[1 << 16] = "of no known layout";
char PyCode_Type[1 << 10] = "code";

static int waits(void) {
  puts("waits");
  fflush(stdout);
  for (;;) pause();
}

static int becomes(const char* program) {
  int watch = inotify_init();
  if (inotify_add_watch(watch, "/proc/self/exe", IN_OPEN | IN_ACCESS) < 0) return 2;
  puts("watches");
  fflush(stdout);
  char event[4096];
  if (read(watch, event, sizeof event) < 0) return 2;
  return execl(program, program, "waits", (char*)0);
}

int main(int argc, char** argv) {
  if (argc == 2 && !strcmp(argv[1], "waits")) return waits();
  if (argc == 3 && !strcmp(argv[1], "becomes")) return becomes(argv[2]);
  FILE* mark = fopen(MARK, "a");
  fprintf(mark, "executed as user %d:", (int)geteuid());
  for (int i = 0; i < argc; i++) fprintf(mark, " %s", argv[i]);
  fputs("\n", mark);
  return fclose(mark);
}
