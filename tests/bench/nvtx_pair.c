/* What an NVTX push and pop cost together: prints ns per pair for each kind of message, the best of many slices. Where
 * nothing is preloaded NVTX itself is all there is.
 *
 *   build/tests/nvtx_pair [pairs]     once more with LD_PRELOAD=build/shim/libtprof.so */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../apps/nvtx_own.h"

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

#define MEASURE(what, push, pop)                \
  do {                                          \
    double best = 1e18;                         \
    for (int slice = 0; slice < 50; slice++) {  \
      double begin = now_ns();                  \
      for (long i = 0; i < pairs; i++) {        \
        push;                                   \
        pop;                                    \
      }                                         \
      double each = (now_ns() - begin) / pairs; \
      if (each < best) best = each;             \
    }                                           \
    printf("%s %.2f ns\n", what, best);         \
  } while (0)

int main(int argc, char** argv) {
  long pairs = argc > 1 ? atol(argv[1]) : 20000;
  nvtxEventAttributes_t a = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
  a.messageType = NVTX_MESSAGE_TYPE_ASCII;
  a.message.ascii = "a message of moderate length";
  a.colorType = NVTX_COLOR_ARGB;
  a.color = 0xff00ff00;
  nvtxDomainHandle_t domain = nvtxDomainCreateA("bench");
  nvtxEventAttributes_t registered = a;
  registered.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  registered.message.registered = nvtxDomainRegisterStringA(domain, "registered");
#if defined(__x86_64__)
  volatile unsigned long long stamp;
  MEASURE("stamp", stamp = __builtin_ia32_rdtsc(), (void)stamp);
#else
  struct timespec t;
  MEASURE("stamp", clock_gettime(CLOCK_MONOTONIC, &t), (void)0);
#endif
  MEASURE("plain", nvtxRangePushA("forward_pass_layer_12"), nvtxRangePop());
  MEASURE("attributes", nvtxRangePushEx(&a), nvtxRangePop());
  MEASURE("registered", nvtxDomainRangePushEx(domain, &registered), nvtxDomainRangePop(domain));
  return 0;
}
