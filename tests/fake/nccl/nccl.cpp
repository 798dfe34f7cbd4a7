// A stub of NCCL with the shape of the real one: every ncclX is a weak alias of the strong pncclX, which is where a
// profiler that interposes ncclX forwards to. One rank: collectives copy, as a communicator of one does.
#include <cstring>

#include "nccl_api.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using namespace sim_nccl;

// cudaMemcpyAsync of whichever runtime the program has.
int copy(const void* from, void* to, size_t bytes, void* stream) {
  auto async = reinterpret_cast<int (*)(void*, const void*, size_t, int, void*)>(find_runtime("cudaMemcpyAsync"));
  if (async == nullptr) return kUnhandledCudaError;
  return from == to || async(to, from, bytes, 3, stream) == 0 ? kSuccess : kUnhandledCudaError;
}

}  // namespace

#define NCCL(name, parameters, ...) \
  EXPORT int p##name parameters __VA_ARGS__ EXPORT __attribute__((weak, alias("p" #name))) int name parameters;

NCCL(ncclGetVersion, (int* version), { return *version = 22703, kSuccess; })
NCCL(ncclGetUniqueId, (UniqueId * id), { return memset(id, 7, sizeof *id), kSuccess; })
NCCL(ncclCommInitRank, (Comm * *comm, int ranks, UniqueId, int rank), {
  if (ranks != 1 || rank != 0) return kInvalidArgument;
  *comm = new Comm;
  return kSuccess;
})
NCCL(ncclCommInitAll, (Comm * *comms, int count, const int*), {
  for (int i = 0; i < count; i++) comms[i] = new Comm;
  return kSuccess;
})
NCCL(ncclCommDestroy, (Comm * comm), {
  delete comm;
  return kSuccess;
})
NCCL(ncclCommAbort, (Comm * comm), {
  delete comm;
  return kSuccess;
})
NCCL(ncclCommCount, (const Comm*, int* count), { return *count = 1, kSuccess; })
NCCL(ncclCommUserRank, (const Comm*, int* rank), { return *rank = 0, kSuccess; })
NCCL(ncclCommCuDevice, (const Comm*, int* device), { return *device = 0, kSuccess; })
NCCL(ncclCommGetAsyncError, (Comm*, int* error), { return *error = kSuccess, kSuccess; })
NCCL(ncclGroupStart, (), { return kSuccess; })
NCCL(ncclGroupEnd, (), { return kSuccess; })
NCCL(ncclAllReduce, (const void* from, void* to, size_t count, int type, int, Comm*, void* stream),
     { return copy(from, to, count * element_bytes(type), stream); })
NCCL(ncclReduce, (const void* from, void* to, size_t count, int type, int, int, Comm*, void* stream),
     { return copy(from, to, count * element_bytes(type), stream); })
NCCL(ncclBroadcast, (const void* from, void* to, size_t count, int type, int, Comm*, void* stream),
     { return copy(from, to, count * element_bytes(type), stream); })
NCCL(ncclBcast, (void*, size_t, int, int, Comm*, void*), { return kSuccess; })
NCCL(ncclAllGather, (const void* from, void* to, size_t count, int type, Comm*, void* stream),
     { return copy(from, to, count * element_bytes(type), stream); })
NCCL(ncclReduceScatter, (const void* from, void* to, size_t count, int type, int, Comm*, void* stream),
     { return copy(from, to, count * element_bytes(type), stream); })
NCCL(ncclSend, (const void*, size_t, int, int, Comm*, void*), { return kSuccess; })
NCCL(ncclRecv, (void*, size_t, int, int, Comm*, void*), { return kSuccess; })

EXPORT const char* pncclGetErrorString(int error) { return error == 0 ? "no error" : "simulated NCCL error"; }
EXPORT __attribute__((weak, alias("pncclGetErrorString"))) const char* ncclGetErrorString(int error);
