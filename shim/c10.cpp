// The reports of allocations that torch's allocators send to torch's own profiler. Each function forwards to the real
// one, so a script's torch.profiler(profile_memory=True) gets what it would have got.
//
// memoryProfilingEnabled is called at every allocation on the CPU. In a program without Python that loads libtorch by
// dlopen after the start of main, it is the first sign of it.
#include <atomic>

#include "collect/interpreter/inittab.h"
#include "collect/torch/attach.h"
#include "collect/torch/memory.h"
#include "export.h"
#include "torch_real.h"

namespace tprof {
namespace {

std::atomic<bool> g_asked{false};

__attribute__((noinline)) void first_asked() {
  if (!g_asked.exchange(true) && !python_process()) torch_attach_native();
}

}  // namespace
}  // namespace tprof

namespace c10 {

constexpr char kLibrary[] = "libc10.so";

struct Device {
  signed char type, index;
};

EXPORT bool memoryProfilingEnabled() {
  static constinit tprof::TorchReal<bool (*)()> real(kLibrary, "_ZN3c1022memoryProfilingEnabledEv");
  if (__builtin_expect(!tprof::g_asked.load(std::memory_order_relaxed), 0)) tprof::first_asked();
  if (tprof::memory_wanted()) return true;
  auto forward = real.get(__builtin_return_address(0));
  return forward && forward();
}

#define CALLED_FROM __builtin_return_address(0), __builtin_frame_address(0)
// Totals were int64_t up to torch 1.13 and are size_t since 2.0: two symbols of the same meaning.
#define REPORTS(Total, mangled_total)                                                                                 \
  EXPORT void reportMemoryUsageToProfiler(void* address, int64_t bytes, Total allocated, Total reserved,              \
                                          Device device) {                                                            \
    using Function = void (*)(void*, int64_t, Total, Total, Device);                                                  \
    static constinit tprof::TorchReal<Function> real(kLibrary,                                                        \
                                                     "_ZN3c1027reportMemoryUsageToProfilerEPvl" mangled_total         \
                                                     "NS_6DeviceE");                                                  \
    if (tprof::memory_wanted())                                                                                       \
      tprof::memory_reported(                                                                                         \
          {address, bytes, tprof::u64(allocated), tprof::u64(reserved), device.type, device.index, CALLED_FROM});     \
    if (auto forward = real.get(__builtin_return_address(0))) forward(address, bytes, allocated, reserved, device);   \
  }                                                                                                                   \
  EXPORT void reportOutOfMemoryToProfiler(int64_t bytes, Total allocated, Total reserved, Device device) {            \
    using Function = void (*)(int64_t, Total, Total, Device);                                                         \
    static constinit tprof::TorchReal<Function> real(kLibrary, "_ZN3c1027reportOutOfMemoryToProfilerEl" mangled_total \
                                                               "NS_6DeviceE");                                        \
    tprof::out_of_memory(bytes, device.type);                                                                         \
    if (tprof::memory_wanted())                                                                                       \
      tprof::memory_reported(                                                                                         \
          {nullptr, bytes, tprof::u64(allocated), tprof::u64(reserved), device.type, device.index, CALLED_FROM});     \
    if (auto forward = real.get(__builtin_return_address(0))) forward(bytes, allocated, reserved, device);            \
  }
REPORTS(int64_t, "ll")
REPORTS(size_t, "mm")
#undef REPORTS
#undef CALLED_FROM

}  // namespace c10
