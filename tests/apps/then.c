/* Says so, and becomes another program: then PROGRAM [ARGUMENT...]. Without one it ends with status 7. */
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  puts("then");
  fflush(stdout);
  if (argc < 2) return 7;
  execvp(argv[1], argv + 1);
  return 127;
}
