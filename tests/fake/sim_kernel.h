/* How a program gives the simulated GPU the body and the figures of a kernel; harmless on a real one. Both are looked
 * up by the kernel's (mangled) name: simk_NAME runs on the host where the launch stands, sima_NAME says what the
 * compiler would have. Without them a kernel is timed and computes nothing. Executables need -rdynamic. */
#ifndef SIM_KERNEL_H
#define SIM_KERNEL_H
#include <stddef.h>
#include <stdint.h>

typedef struct SimDim {
  uint32_t x, y, z;
} SimDim;

typedef struct SimAttributes {
  uint32_t registers, shared_bytes, local_bytes;
  uint32_t parameter_count; /* captured launches keep their arguments' values only when these are told */
  uint64_t duration_ns;     /* 0: by the number of threads */
  uint32_t parameter_bytes[16];
} SimAttributes;

#ifdef __cplusplus
#define SIM_C extern "C" __attribute__((visibility("default")))
#else
#define SIM_C __attribute__((visibility("default")))
#endif

#define SIM_KERNEL_BODY(name, arguments, grid, block, shared) \
  SIM_C void simk_##name(void** arguments, SimDim grid, SimDim block, size_t shared)
#define SIM_KERNEL_ATTRIBUTES(name, ...) \
  SIM_C const SimAttributes sima_##name; \
  const SimAttributes sima_##name = {__VA_ARGS__}

#endif
