// NCCL's side of the profiler plugin interface: it loads what NCCL_PROFILER_PLUGIN names and tells it what happens.
#pragma once
#include "types.h"

namespace sim_nccl {

using namespace sim;

struct Comm;
struct Operation;

// The plugin's handles of an operation.
struct Profiled {
  void *group = nullptr, *operation = nullptr, *send = nullptr, *receive = nullptr;
};

void profiler_meets(Comm& comm);  // a new communicator
void profiler_leaves(Comm& comm);
Profiled profiler_starts(const Operation& operation);
void profiler_stops(const Operation& operation);

}  // namespace sim_nccl
