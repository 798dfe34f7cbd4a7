// Functions of the CUDA driver that the runtime hands out by pointer (cudaGetDriverEntryPoint): the caller gets a
// wrapper. A process has one driver, so each wrapper has one real function.
#include <string.h>

#include "collect/cuda/call.h"
#include "export.h"
#include "payload.h"
#include "resolve.h"

using namespace tprof;

namespace {

template <class Function>
struct Real {
  std::atomic<Function> function{nullptr};
};

#define DRIVER(name, family, flags, parameters, arguments, ...)                              \
  constinit Real<int(*) parameters> g_##name;                                                \
  int our_##name parameters {                                                                \
    static constinit CallName call_name{#name};                                              \
    auto real = g_##name.function.load(std::memory_order_relaxed);                           \
    if (__builtin_expect(!calls_wanted(), 1)) return real arguments;                         \
    return record_call<CallKind{kApiCudaDriver, CallFamily::family, (flags) | kCallDriver}>( \
        call_name, [&] { return real arguments; },                                           \
        [&]([[maybe_unused]] auto ok) { return CallPayload{__VA_ARGS__}; });                 \
  }
#include "hooks.def"

template <class Function>
void* ours_for(Real<Function>& real, Function ours, void* given) {
  if (given != reinterpret_cast<void*>(ours)) real.function.store(reinterpret_cast<Function>(given));
  return reinterpret_cast<void*>(ours);
}

void* ours_or(const char* name, void* given) {
#define DRIVER(symbol, ...) \
  if (!strcmp(name, #symbol)) return ours_for(g_##symbol, our_##symbol, given);
#include "hooks.def"
  return given;
}

}  // namespace

#define ENTRY_POINT(name, parameters, arguments)                                                           \
  extern "C" EXPORT int name parameters {                                                                  \
    auto real = reinterpret_cast<int(*) parameters>(function_of(Hook::name, __builtin_return_address(0))); \
    if (!real) return kInsufficientDriver;                                                                 \
    int result = real arguments;                                                                           \
    if (result == 0 && symbol && function && *function) *function = ours_or(symbol, *function);            \
    return result;                                                                                         \
  }
#include "hooks.def"
