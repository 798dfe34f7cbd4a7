// A CUDA runtime of which every function does nothing, made from the table of hooks. Each exists a second time as
// bare_<name>, which nobody interposes: the same call without tprof.
#include "shim/abi.h"

using namespace tprof;

#define FUNCTION(name, parameters) \
  extern "C" __attribute__((visibility("default"))) int name parameters { return 0; }
#define TWICE(name, parameters) FUNCTION(name, parameters) FUNCTION(bare_##name, parameters)

#define CUDA(name, twin, family, flags, parameters, ...) TWICE(name, parameters)
#define PROFILER(name, ...) TWICE(name, ())
#define ENTRY_POINT(name, parameters, ...) TWICE(name, parameters)
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "shim/hooks.def"
FUNCTION(cudaGetDevice, (int* device))
