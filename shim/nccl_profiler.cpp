// What NCCL looks for in the library that NCCL_PROFILER_PLUGIN names: the tables of its profiler plugin interface. It
// takes the newest that it knows. NCCL's errors are left to the program: every answer is success.
#include "collect/cuda/nccl_profiler.h"
#include "export.h"

using namespace tprof;
using namespace tprof::nccl;

namespace {

int init(void** context, int* mask, int wanted, u64 comm, int ranks, int rank) {
  if (mask) *mask = wanted;
  if (context) *context = profiler_init(comm, ranks, rank);
  return 0;
}

int init_v4(void** context, int* mask, const char*, u64 comm, int, int ranks, int rank, Log) {
  return init(context, mask, kWanted, comm, ranks, rank);
}

template <int wanted>
int init_v5(void** context, u64 comm, int* mask, const char*, int, int ranks, int rank, Log) {
  return init(context, mask, wanted, comm, ranks, rank);
}

template <class Type>
int start(void* context, void** handle, void* description) {
  if (!handle) return 0;
  *handle = description ? profiler_start(context, u32(*static_cast<const Type*>(description)),
                                         *static_cast<const Description*>(description))
                        : nullptr;
  return 0;
}

int stop(void* handle) { return profiler_stop(handle), 0; }
int state(void* handle, int state, void*) { return profiler_state(handle, state), 0; }
int finalize(void* context) { return profiler_finalize(context), 0; }

}  // namespace

extern "C" {
EXPORT extern const TableV4 ncclProfiler_v4;
EXPORT extern const TableV5 ncclProfiler_v5, ncclProfiler_v6;
const TableV4 ncclProfiler_v4 = {"tprof", init_v4, start<u8>, stop, state, finalize};
const TableV5 ncclProfiler_v5 = {"tprof", init_v5<kWanted>, start<u64>, stop, state, finalize};
const TableV5 ncclProfiler_v6 = {"tprof", init_v5<kWantedV6>, start<u64>, stop, state, finalize};
}
