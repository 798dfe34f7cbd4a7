// A libcuda.so.1 whose cuInit() does not succeed: it ANSWERS with that code, or dies.
#include <signal.h>

int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}

int cuInit(unsigned flags) {
#ifdef ANSWERS
  (void)flags;
  return ANSWERS;
#else
  return raise(SIGSEGV) + (int)flags;
#endif
}
