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
#include "resolve.h"

namespace tprof {
namespace {

std::atomic<bool> g_asked{false};

__attribute__((noinline)) void first_asked() {
  if (!g_asked.exchange(true) && !python_process()) torch_attach_native();
}

}  // namespace
}  // namespace tprof

namespace c10 {

struct Device {
  signed char type, index;
};

#define REAL(Function, name) \
  reinterpret_cast<Function>(tprof::function_of(tprof::Hook::name, __builtin_return_address(0)))

EXPORT bool memoryProfilingEnabled() {
  if (__builtin_expect(!tprof::g_asked.load(std::memory_order_relaxed), 0)) tprof::first_asked();
  if (tprof::memory_wanted()) return true;
  auto real = REAL(bool (*)(), memory_profiling_enabled);
  return real && real();
}

#define CALLED_FROM __builtin_return_address(0), __builtin_frame_address(0)
// Two symbols of the same meaning.
#define REPORTS(Total, letter)                                                                                    \
  EXPORT void reportMemoryUsageToProfiler(void* address, int64_t bytes, Total allocated, Total reserved,          \
                                          Device device) {                                                        \
    if (tprof::memory_wanted())                                                                                   \
      tprof::memory_reported(                                                                                     \
          {address, bytes, tprof::u64(allocated), tprof::u64(reserved), device.type, device.index, CALLED_FROM}); \
    auto real = REAL(void (*)(void*, int64_t, Total, Total, Device), report_memory_##letter);                     \
    if (real) real(address, bytes, allocated, reserved, device);                                                  \
  }                                                                                                               \
  EXPORT void reportOutOfMemoryToProfiler(int64_t bytes, Total allocated, Total reserved, Device device) {        \
    tprof::out_of_memory(bytes, device.type);                                                                     \
    if (tprof::memory_wanted())                                                                                   \
      tprof::memory_reported(                                                                                     \
          {nullptr, bytes, tprof::u64(allocated), tprof::u64(reserved), device.type, device.index, CALLED_FROM}); \
    auto real = REAL(void (*)(int64_t, Total, Total, Device), report_out_of_memory_##letter);                     \
    if (real) real(bytes, allocated, reserved, device);                                                           \
  }
REPORTS(int64_t, l)
REPORTS(size_t, m)
#undef REPORTS
#undef CALLED_FROM
#undef REAL

}  // namespace c10
