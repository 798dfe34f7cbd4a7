// Prints a word and ends with 7: to be linked statically, or to be made setuid.
#include <stdio.h>

int main(void) {
  puts("hello");
  return 7;
}
