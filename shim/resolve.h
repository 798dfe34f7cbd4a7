// The real function for a wrapper. It depends on the caller: a process may hold several CUDA runtimes, and what Python
// loads is not in the global scope. So it is searched for where the loader would have found it for the caller, and is
// kept for each calling library.
#pragma once
#include <atomic>

#include "base/types.h"

namespace tprof {

// One id per exported function of the table.
enum class Hook : u32 {
#define CUDA(name, twin, ...) CUDA_##twin(name)
#define CUDA_one(name) name,
#define CUDA_ptsz(name) name, name##_ptsz,
#define CUDA_ptds(name) name, name##_ptds,
#define NCCL(name, ...) name,
#define PROFILER(name, ...) name,
#define ENTRY_POINT(name, ...) name,
#define ASKED(name) name,
#define NCCL_ASKED(name) name,
#define TORCH(name, ...) name,
#include "hooks.def"
#undef CUDA_one
#undef CUDA_ptsz
#undef CUDA_ptds
  count
};

// A library (or program) that has called, with its real functions. Never freed, so that it can be read without a lock.
struct Caller {
  uintptr_t low;
  std::atomic<uintptr_t> bytes;  // 0: it was unloaded
  u32 path_hash;
  std::atomic<u32> seen;  // the last call of forget_unloaded_callers() that found it
  std::atomic<void*> functions[u32(Hook::count)];
  std::atomic<Caller*> next;
};

constexpr u32 kCallerSlots = 256;
constexpr u32 kCallerShift = 16;  // code this close together mostly belongs to one library
extern std::atomic<const Caller*> g_caller_slots[kCallerSlots];

// nullptr: not known yet.
inline void* known_function(Hook hook, const void* caller) {
  auto at = reinterpret_cast<uintptr_t>(caller);
  const Caller* c = g_caller_slots[(at >> kCallerShift) % kCallerSlots].load(std::memory_order_acquire);
  if (__builtin_expect(!c || at - c->low >= c->bytes.load(std::memory_order_relaxed), 0)) return nullptr;
  return c->functions[u32(hook)].load(std::memory_order_relaxed);
}

// nullptr if the process has no such function. The first call into a CUDA runtime starts profiling. Keeps errno.
void* find_function(Hook hook, const void* caller);

// A library was unloaded, whose addresses others may get.
void forget_unloaded_callers();

inline void* function_of(Hook hook, const void* caller) {
  void* known = known_function(hook, caller);
  return __builtin_expect(known != nullptr, 1) ? known : find_function(hook, caller);
}

}  // namespace tprof
