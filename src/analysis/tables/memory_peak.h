// Peak memory: what was alive at the peak and which operators had allocated it, whether memory grows from step to step,
// and how much the allocator keeps without using it.
#pragma once
#include "analysis/basis/windows.h"

namespace tprof {

// Blocks alive at the peak, summed by the operator in which they were allocated and its call stack.
struct Owner {
  i32 op = -1;       // one of the operators: index into Model::events; -1: outside of any
  u32 name = kNone;  // its name
  u32 stack = 0;     // index into Model::stacks, 0 none
  u64 bytes = 0, blocks = 0;
};

struct MemoryPeak {
  u8 device_type = 0;
  i8 device_index = -1;
  bool totals_known = false;     // the allocator stated its totals; else they are summed from the events
  bool addresses_known = false;  // torch before 1.10 does not record them: then owners are not known
  i64 peak_ns = 0;
  u64 peak_bytes = 0;           // allocated
  u64 peak_reserved_bytes = 0;  // largest reserved at any time; 0 not known
  std::vector<Owner> owners;    // at the peak, largest first
  u64 unseen_bytes = 0;         // alive at the peak, allocated before anything was recorded

  // Reserved - allocated: what the allocator holds but may not be able to use for a request.
  u64 unused_at_peak_bytes = 0;  // at the peak; unused_bytes is its largest value, at unused_ns
  u64 unused_bytes = 0;
  i64 unused_ns = 0;

  // Allocated at the end of each step. A leak: it grew in every step after the first, by this much in the middle one.
  // With many steps, the last one may be an exception: no other batch is drawn in it.
  std::vector<u64> at_step_end;  // by Windows::steps; empty if the Model has none
  bool grows = false;            // known only with at least kLeakSteps steps
  bool growth_known = false;
  i64 growth_bytes = 0;  // per step, the median
  // With `grows`: allocated in the steps between the first and the last, and still alive at the end of the last. Later
  // releases do not count: they may be the end of the program, which frees everything.
  std::vector<Owner> kept;

  u64 releases_unknown = 0;  // blocks released that were not seen to be allocated
};
constexpr size_t kLeakSteps = 4;

// By device. `model.memory` without events: empty.
std::vector<MemoryPeak> memory_peaks(const Model& model, const Windows& windows);

}  // namespace tprof
