// Device and host memory over time: the curve, allocations paired with their releases, and the peak.
#pragma once
#include "analysis/operators.h"

namespace tprof {

// A block of memory from its allocation to its release. What lies outside the span is not known.
struct MemoryBlock {
  MemoryDevice device;
  u64 address = 0;
  i64 bytes = 0;
  i64 allocated_ns = kUnseen, released_ns = kUnseen;
  i32 node = -1;  // the innermost node open at its allocation: index into OpTree::nodes; -1 none, or not seen
  u32 event = 0;  // index into Model::memory: its allocation, else its release

  static constexpr i64 kUnseen = INT64_MIN;
};

// In order of allocation; those allocated before the span stand in front, in order of release.
// Events that state no address (torch before 1.10) make no blocks.
std::vector<MemoryBlock> memory_blocks(const Model& model, const OpTree& tree);

struct MemoryPoint {
  i64 ns;
  i64 allocated_bytes, reserved_bytes;  // of the device, behind the event
};

struct MemoryCurve {
  std::vector<MemoryPoint> points;  // in order of time
  MemoryPoint peak{};               // the first one with the most bytes allocated
};

// By device. With `most`, each curve is thinned to about that many points: of each stretch of time the first point and
// the highest stay. Empty: totals were not recorded.
std::map<MemoryDevice, MemoryCurve> memory_curves(const Model& model, size_t most = 0);

}  // namespace tprof
