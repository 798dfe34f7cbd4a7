// The exported functions of libcudart: each row of runtime_api.def as a traced call around its body.
#include "runtime.h"

#include <dlfcn.h>

#include <string_view>

#include "parameters.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace sim {
namespace {

Driver* find_driver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  auto get = reinterpret_cast<Driver* (*)()>(dlsym(library, "simcuda_driver"));
  Driver* found = get != nullptr ? get() : nullptr;
  return found != nullptr && found->version() / 1000 >= SIM_MAJOR ? found : nullptr;
}

// Functions that answer without a driver.
constexpr bool driverless(const char* name) {
  for (const char* free : {"cudaDriverGetVersion", "cudaRuntimeGetVersion", "cudaGetLastError", "cudaPeekAtLastError"})
    if (std::string_view(free) == name) return true;
  return false;
}

template <typename Body>
int traced(u32 cbid, const char* name, bool needs_driver, const void* parameters, Body body) {
  Driver* cuda = driver();
  if (cuda == nullptr) return needs_driver ? last_error = kErrorInsufficientDriver : body();
  if (needs_driver) {
    if (int failure = cuda->initialize()) return last_error = failure;
  }
  Call call;
  call.domain = Domain::runtime;
  call.cbid = cbid;
  call.name = name;
  call.parameters = parameters;
  cuda->enter(call);
  if (!call.refused) call.result = body();
  cuda->leave(call);
  bool reads_errors = !needs_driver;
  if (call.result != kSuccess && call.result != kErrorNotReady && !reads_errors) last_error = call.result;
  return call.result;
}

}  // namespace

thread_local bool per_thread_default;
thread_local int last_error;

Driver* driver() {
  static Driver* found = find_driver();
  return found;
}

Stream* stream_of(Handle handle) { return driver()->stream(handle, per_thread_default); }

Context* current_context() {
  Context* context = driver()->current();
  if (context == nullptr) driver()->set_current(context = driver()->primary(0));
  return context;
}

int current_device() {
  Context* context = driver()->current();
  return context != nullptr ? context->device->index : 0;
}

#define RT(name, cbid, version, parameters, arguments)                                             \
  EXPORT int name parameters {                                                                     \
    auto packed = Parameters arguments;                                                            \
    return traced(cbid, #name, !driverless(#name), &packed, [&] { return body::name arguments; }); \
  }
#define RT_TWIN(name, cbid, version, suffix, twin, parameters, arguments)                              \
  RT(name, cbid, version, parameters, arguments)                                                       \
  EXPORT int name##_##suffix parameters {                                                              \
    auto packed = Parameters arguments;                                                                \
    per_thread_default = true;                                                                         \
    int result = traced(twin, #name "_" #suffix, true, &packed, [&] { return body::name arguments; }); \
    per_thread_default = false;                                                                        \
    return result;                                                                                     \
  }
#include "runtime_api.def"
#undef RT
#undef RT_TWIN

// Untraced, as far as the simulation goes.
EXPORT const char* cudaGetErrorString(int error) { return status_text(error); }
EXPORT const char* cudaGetErrorName(int error) { return status_name(error); }

}  // namespace sim
