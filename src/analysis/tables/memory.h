// Device and host memory over time: the curve, allocations paired with their releases, and the peak.
#pragma once
#include "analysis/tables/operators.h"

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

  // A block without a recorded allocation existed before the span; one without a recorded release stays.
  bool alive_at(i64 ns) const { return allocated_ns <= ns && (released_ns == kUnseen || ns < released_ns); }
};

// A range of time, as a user drags it on the curve; both ends lie in it. Moments are those of the Model.
struct MemoryRange {
  i64 begin_ns = INT64_MIN, end_ns = INT64_MAX;

  bool is_all() const { return begin_ns == INT64_MIN && end_ns == INT64_MAX; }
  bool holds(i64 ns) const { return begin_ns <= ns && ns <= end_ns; }
};

// The part of a tree within a range: nodes outside it are not listed, and allocations and releases outside it belong to
// no node (torch_tb_profiler's rule).
OpTree part_of(const Model& model, OpTree tree, const MemoryRange& range);

// In order of allocation; those allocated before the span stand in front, in order of release.
// Events that state no address (torch before 1.10) make no blocks.
std::vector<MemoryBlock> memory_blocks(const Model& model, const OpTree& tree);

// What an operator allocated and released on a device.
struct MemorySum {
  std::string device, name;
  u64 calls = 0;
  MemoryUse use;
};

// By device, then by name; operators and labels with the same name are one row.
std::vector<MemorySum> memory_sums(const Model& model, const OpTree& tree);

// The call stack of a block's allocation: its own, else that of its node; 0 none, or not seen.
u32 stack_of(const Model& model, const OpTree& tree, const MemoryBlock& block);

struct MemoryPoint {
  i64 ns;
  i64 allocated_bytes, reserved_bytes;  // of the device, after the event
};

struct MemoryCurve {
  std::vector<MemoryPoint> points;  // in order of time
  MemoryPoint peak{};               // the first one with the most bytes allocated
};

// By device. With `most`, each curve is thinned to about that many points: the first and the highest point of each
// stretch of time are kept. Empty: totals were not recorded.
std::map<MemoryDevice, MemoryCurve> memory_curves(const Model& model, size_t most = 0);

}  // namespace tprof
