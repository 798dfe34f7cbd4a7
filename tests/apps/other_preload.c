// Somebody else's preloaded library: leaves a word in the environment and answers getppid.
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void loaded(void) { setenv("OTHER_PRELOAD", "loaded", 1); }

pid_t getppid(void) { return 4711; }
