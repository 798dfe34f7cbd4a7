// A snapshot of the CUDA allocator as torch.cuda.memory._dump_snapshot() pickles it, from the memory events of a Model:
// what https://pytorch.org/memory_viz and torch/cuda/_memory_viz.py read. The keys are those that _snapshot() in
// torch/cuda/memory.py documents.
//
// device_traces: for each allocation "alloc"; for each release "free_requested" and "free_completed", since a trace
// does not tell them apart. Frames, innermost first: the operators, labels and modules around it, with their kind as
// file name, and then its call stack; without one, Python calls stand between the others. Times are those of the clock,
// in microseconds.
//
// segments: a trace does not say what the allocator got from CUDA. Stated is the memory that the blocks of the trace
// lay in: neighbouring blocks, of whatever time, are one segment. What the allocator held beside it is missing. The
// blocks in them are those that were alive at the end, as far as their allocation was seen.
//
// GPUs have their numbers as devices. Other memory follows behind them, as in torch's own profile_plot().
#pragma once
#include <string>
#include <vector>

#include "kineto/write/output.h"
#include "model/trace.h"

namespace tprof {

struct MemoryVizCounts {
  std::vector<std::string> devices;  // "GPU0", "CPU", by number; empty: one without an event
  u64 allocations = 0, releases = 0;
  u64 segments = 0, alive = 0;  // blocks at the end
  u64 placeless = 0;            // events without an address, left out
  u64 out_of_memory = 0;        // left out: the format states the free memory of the device, which is not recorded
  u64 overlapping = 0;          // of `alive`: left out as a block, since it lies in another whose release was not seen
};

// Throws Error(Fault::unreadable) if there are no memory events, or none has an address.
MemoryVizCounts write_memory_viz(const Model& model, kineto::OutputFile& out);

}  // namespace tprof
