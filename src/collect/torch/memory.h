// Reports of torch's allocators: what shim/c10.cpp catches on its way to torch's own profiler.
//
// c10 keeps the size of every block on the CPU, and so can report its release, only while somebody wants memory
// events: tprof wants them from the first allocation of the process until the last window is over, if
// TPROF_PROFILE_MEMORY asks for them. CUDA's caching allocator always reports.
#pragma once
#include <atomic>

#include "base/types.h"

namespace tprof {

struct MemoryReport {
  const void* address;  // nullptr: out of memory
  i64 bytes;            // < 0: released
  u64 total_allocated;  // of the device, behind this report
  u64 total_reserved;
  i8 device_type;      // c10::DeviceType: 0 CPU, 1 CUDA
  i8 device_index;     // -1: none
  const void* caller;  // code that reports
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

// The last window is over, or nothing will be recorded: false. Windows come again: true.
void memory_switch(bool on);

// True once an allocator reported: the interposition works in this process.
bool memory_heard();

}  // namespace tprof
