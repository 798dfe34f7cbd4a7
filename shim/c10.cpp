// c10::memoryProfilingEnabled, which torch asks at every allocation on the CPU: the first sign of a libtorch that a
// program without Python loaded by dlopen after main began. Forwards to the real one.
#include <atomic>

#include "base/elf.h"
#include "collect/python/bootstrap.h"
#include "collect/torch/attach.h"

namespace tprof {
namespace {

using Enabled = bool (*)();
std::atomic<Enabled> g_real{nullptr};
std::atomic<bool> g_tried{false};

bool never() { return false; }

// torch loads its libraries RTLD_LOCAL: RTLD_NEXT would not see them.
Enabled find_real() {
  Enabled real = nullptr;
  if (!ElfObject::mapped("libc10.so").symbol(real, "_ZN3c1022memoryProfilingEnabledEv")) real = never;
  g_real.store(real, std::memory_order_relaxed);
  if (!python_process() && !g_tried.exchange(true)) torch_attach_native();
  return real;
}

}  // namespace
}  // namespace tprof

namespace c10 {
__attribute__((visibility("default"))) bool memoryProfilingEnabled() {
  tprof::Enabled real = tprof::g_real.load(std::memory_order_relaxed);
  return real ? real() : tprof::find_real()();
}
}  // namespace c10
