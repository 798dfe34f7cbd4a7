// The exported functions of libcuda.so.1: the public driver API, each row of driver_api.def around its body.
#include <cstring>

#include "driver.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace sim {
namespace body {

static int cuLaunchKernel(Kernel* kernel, u32 gx, u32 gy, u32 gz, u32 bx, u32 by, u32 bz, u32 shared, void* stream,
                          void** arguments, void**) {
  Launch launch;
  launch.kernel = kernel;
  launch.grid = {gx, gy, gz};
  launch.block = {bx, by, bz};
  launch.shared_bytes = shared;
  launch.arguments = arguments;
  launch.stream = simcuda_driver()->stream(stream, false);
  return simcuda_driver()->launch(launch);
}

}  // namespace body

EXPORT int cuInit(u32) { return simcuda_driver()->initialize(); }

EXPORT int cuDriverGetVersion(int* version) {
  *version = simcuda_driver()->version();
  return kSuccess;
}

#define DRV(name, cbid, parameters, arguments) \
  EXPORT int name parameters { return body::name arguments; }
#include "driver_api.def"
#undef DRV

}  // namespace sim
