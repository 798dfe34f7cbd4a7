// How a kernel fills a multiprocessor: blocks and warps per SM, and the estimated occupancy that torch.profiler shows.
//
// The number of blocks that fit at once is limited by warps, block slots, registers (allocated per warp, in each of the
// SM's partitions) and shared memory. Checked against NVIDIA's own calculator (tests/unit/occupancy_test.cpp).
#pragma once
#include "record/record.h"

namespace tprof {

struct Occupancy {
  double blocks_per_sm = 0;  // blocks of the whole grid per SM; 0 unknown
  double warps_per_sm = 0;   // not rounded up to whole warps
  int active_blocks = -1;    // blocks that fit on one SM at once; -1 unknown
  double percent = -1;       // of the threads of an SM, 0 to 100; -1 unknown
};

Occupancy occupancy_of(const KernelRecord& kernel, const DeviceRecord* device);

}  // namespace tprof
