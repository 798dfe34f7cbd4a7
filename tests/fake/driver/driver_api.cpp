// The exported functions of libcuda.so.1: each row of driver_api.def as a traced call around its body, and the lookup
// of them by name.
#include "driver_api.h"

#include <cstdio>
#include <cstring>
#include <string_view>

#include "parameters.h"
#include "switches.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace sim {
namespace {

thread_local bool per_thread_default;

template <typename Body>
int traced(u32 cbid, const char* name, const void* parameters, Body body) {
  Driver* driver = simcuda_driver();
  Call call;
  call.domain = Domain::driver;
  call.cbid = cbid;
  call.name = name;
  call.parameters = parameters;
  driver->enter(call);
  if (!call.refused) call.result = body();
  driver->leave(call);
  return call.result;
}

}  // namespace

Stream* api_stream(void* handle) { return simcuda_driver()->stream(handle, per_thread_default); }

#define DRV_PLAIN(name, parameters, arguments) \
  EXPORT int name parameters { return driver_body::name arguments; }
#define DRV(name, cbid, parameters, arguments)                                        \
  EXPORT int name parameters {                                                        \
    auto packed = Parameters arguments;                                               \
    return traced(cbid, #name, &packed, [&] { return driver_body::name arguments; }); \
  }
#define DRV_TWIN(name, cbid, twin, parameters, arguments)                                           \
  DRV(name, cbid, parameters, arguments)                                                            \
  EXPORT int name##_ptsz parameters {                                                               \
    auto packed = Parameters arguments;                                                             \
    per_thread_default = true;                                                                      \
    int result = traced(twin, #name "_ptsz", &packed, [&] { return driver_body::name arguments; }); \
    per_thread_default = false;                                                                     \
    return result;                                                                                  \
  }
#include "driver_api.def"
#undef DRV_PLAIN
#undef DRV
#undef DRV_TWIN

namespace driver_body {

// Flag 2 asks for the functions of per-thread default streams.
int cuGetProcAddress_v2(const char* symbol, void** function, int, u64 flags, int* status) {
  struct Entry {
    std::string_view name;
    void *function, *twin;
  };
  static const Entry kFunctions[] = {
#define DRV_PLAIN(name, parameters, arguments) {#name, reinterpret_cast<void*>(::sim::name), nullptr},
#define DRV(name, cbid, parameters, arguments) {#name, reinterpret_cast<void*>(::sim::name), nullptr},
#define DRV_TWIN(name, cbid, twin, parameters, arguments) \
  {#name, reinterpret_cast<void*>(::sim::name), reinterpret_cast<void*>(::sim::name##_ptsz)},
#include "driver_api.def"
#undef DRV_PLAIN
#undef DRV
#undef DRV_TWIN
  };
  const Entry* found = nullptr;
  for (const Entry& entry : kFunctions) {
    bool newer = entry.name.ends_with("_v2") && entry.name.substr(0, entry.name.size() - 3) == symbol;
    if (newer || (entry.name == symbol && found == nullptr)) found = &entry;  // the newest of a name
  }
  if (found == nullptr && number_of(Switch::SIMCUDA_STUBS) != 0) fprintf(stderr, "simulated CUDA: no %s\n", symbol);
  *function = found == nullptr ? nullptr : (flags & 2) != 0 && found->twin != nullptr ? found->twin : found->function;
  if (status != nullptr) *status = found != nullptr ? 0 : 1;
  return found != nullptr ? kSuccess : kErrorSymbolNotFound;
}

int cuGetProcAddress(const char* symbol, void** function, int version, u64 flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}

}  // namespace driver_body
}  // namespace sim
