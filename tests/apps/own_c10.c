// A library with a c10 of its own inside, as an extension that is linked statically with libtorch.
#define ENABLED "_ZN3c1022memoryProfilingEnabledEv"
_Bool enabled(void) __asm__(ENABLED);

static int asked;

_Bool enabled(void) {
  asked++;
  return 1;
}

int ask(void) { return enabled() ? asked : -1; }
