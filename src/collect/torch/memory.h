// Reports of torch's allocators, which shim/c10.cpp intercepts on their way to torch's own profiler.
//
// Only while memory events are enabled does c10 keep the size of every CPU block, which it needs to report the release.
// So if TPROF_PROFILE_MEMORY is on, tprof enables them from the first allocation of the process until the last window
// is over. CUDA's caching allocator always reports.
#pragma once
#include <atomic>

#include "base/types.h"

namespace tprof {

struct MemoryReport {
  const void* address;  // nullptr: out of memory
  i64 bytes;            // < 0: released
  u64 total_allocated;  // of the device, after this report
  u64 total_reserved;
  i8 device_type;      // c10::DeviceType: 0 CPU, 1 CUDA
  i8 device_index;     // -1: none
  const void* caller;  // the code that reports
  const void* frame;   // of the function that it calls, see native_stack()
};

enum class MemoryState : u32 { undecided, off, on };
extern std::atomic<MemoryState> g_memory;

// First call: reads the options.
MemoryState memory_decide();

inline bool memory_wanted() {
  MemoryState state = g_memory.load(std::memory_order_relaxed);
  if (__builtin_expect(state == MemoryState::undecided, 0)) state = memory_decide();
  return state == MemoryState::on;
}

// A report that arrived while memory_wanted().
void memory_reported(const MemoryReport& report);

// An allocator of torch found no memory. It says so for the CPU only while memory_wanted().
void out_of_memory(i64 bytes, i8 device_type);

// false: the last window is over, or nothing will be recorded. true: more windows follow.
void memory_switch(bool on);

// Whether an allocator has reported: then the interposition works in this process.
bool memory_was_reported();

}  // namespace tprof
