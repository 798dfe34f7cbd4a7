// What NCCL tells its profiler plugin: which operations it launches, by which algorithm, and when its network threads
// are busy with them. Called on threads of NCCL: takes no lock, keeps a fixed amount, and always answers success.
//
// Handles are numbers, which are never followed: NCCL may give back one that is old, or another process's.
#pragma once
#include "collect/cuda/nccl_profiler_abi.h"

namespace tprof::nccl {

// The events that are asked for.
constexpr int kWanted = kColl | kP2p | kProxyOp, kWantedV6 = kWanted | kCeColl;

void* profiler_init(u64 comm, int ranks, int rank);
// nullptr: nothing more is to be said of it.
void* profiler_start(void* context, u32 type, const Description& description);
void profiler_state(void* handle, int state);
void profiler_stop(void* handle);
void profiler_finalize(void* context);

}  // namespace tprof::nccl
