// The functions of NCCL with the shape of the real ones: every ncclX is a weak alias of the strong pncclX, which is
// where a profiler that interposes ncclX forwards to.
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <algorithm>
#include <string>
#include <vector>

#include "operations.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using namespace sim_nccl;

u64 hash_of(const std::string& text) {
  u64 hash = 0xcbf29ce484222325;
  for (char c : text) hash = (hash ^ u8(c)) * 0x100000001b3;
  return hash;
}

std::string name_of(u64 number) {
  char text[40];
  snprintf(text, sizeof text, "/simnccl-%016llx", static_cast<unsigned long long>(number));
  return text;
}

int join(Comm** made, const std::string& name, int ranks, int rank) {
  if (rank < 0 || rank >= ranks || ranks > kMaxRanks) return kInvalidArgument;
  World* world = World::join(name, ranks, rank);
  if (!world) return kSystemError;
  auto* comm = new Comm;
  comm->world = world;
  comm->hash = hash_of(name);
  profiler_meets(*comm);
  *made = comm;
  return kSuccess;
}

int leave(Comm* comm) {
  if (!comm) return kInvalidArgument;
  profiler_leaves(*comm);
  delete comm->world;
  delete comm;
  return kSuccess;
}

// All ranks of `comm` call it; those of one colour become a communicator, in the order of their keys.
int split(Comm* comm, int color, int key, Comm** made) {
  World& world = *comm->world;
  i64* words = world.seat(world.rank).words;
  words[0] = color;
  words[1] = key;
  int number = ++comm->splits;
  if (!world.barrier()) return kRemoteError;
  std::vector<std::pair<i64, int>> members;
  for (int r = 0; r < world.ranks; r++)
    if (world.seat(r).words[0] == color) members.push_back({world.seat(r).words[1], r});
  std::sort(members.begin(), members.end());
  if (!world.barrier()) return kRemoteError;
  *made = nullptr;
  if (color == kSplitNoColor) return kSuccess;
  auto me = std::find_if(members.begin(), members.end(), [&](const auto& m) { return m.second == world.rank; });
  std::string name = name_of(hash_of(world.name + "/" + std::to_string(number) + "/" + std::to_string(color)));
  return join(made, name, int(members.size()), int(me - members.begin()));
}

}  // namespace

#define NCCL(name, parameters, ...) \
  EXPORT int p##name parameters __VA_ARGS__ EXPORT __attribute__((weak, alias("p" #name))) int name parameters;

NCCL(ncclGetVersion, (int* version), { return *version = 22807, kSuccess; })
NCCL(ncclGetUniqueId, (UniqueId * id), {
  memset(id, 0, sizeof *id);
  return getrandom(id, sizeof(u64), 0) == ssize_t(sizeof(u64)) ? kSuccess : kSystemError;
})
NCCL(ncclCommInitRank, (Comm * *comm, int ranks, UniqueId id, int rank), {
  u64 number;
  memcpy(&number, &id, sizeof number);
  return join(comm, name_of(number), ranks, rank);
})
NCCL(ncclCommInitRankConfig, (Comm * *comm, int ranks, UniqueId id, int rank, void*),
     { return pncclCommInitRank(comm, ranks, id, rank); })
// Communicators of one rank each.
NCCL(ncclCommInitAll, (Comm * *comms, int count, const int*), {
  for (int i = 0; i < count; i++) {
    UniqueId id;
    if (int failed = pncclGetUniqueId(&id)) return failed;
    if (int failed = pncclCommInitRank(&comms[i], 1, id, 0)) return failed;
  }
  return kSuccess;
})
NCCL(ncclCommSplit, (Comm * comm, int color, int key, Comm** made, void*), { return split(comm, color, key, made); })
NCCL(ncclCommFinalize, (Comm*), { return kSuccess; })
NCCL(ncclCommDestroy, (Comm * comm), { return leave(comm); })
NCCL(ncclCommAbort, (Comm * comm), {
  if (comm) comm->world->fail();
  return leave(comm);
})
NCCL(ncclCommCount, (const Comm* comm, int* count), { return *count = comm->world->ranks, kSuccess; })
NCCL(ncclCommUserRank, (const Comm* comm, int* rank), { return *rank = comm->world->rank, kSuccess; })
NCCL(ncclCommCuDevice, (const Comm* comm, int* device), { return *device = comm->device, kSuccess; })
NCCL(ncclCommGetAsyncError, (Comm * comm, int* error),
     { return *error = comm->world->failed() ? kRemoteError : kSuccess, kSuccess; })
NCCL(ncclGroupStart, (), { return group_start(); })
NCCL(ncclGroupEnd, (), { return group_end(); })
NCCL(ncclGroupSimulateEnd, (void*), { return group_forget(); })
NCCL(ncclAllReduce, (const void* from, void* to, size_t count, int type, int op, Comm* comm, void* stream), {
  return enqueue({Func::all_reduce, from, to, count, type, op, 0, comm, stream});
})
NCCL(ncclReduce, (const void* from, void* to, size_t count, int type, int op, int root, Comm* comm, void* stream), {
  return enqueue({Func::reduce, from, to, count, type, op, root, comm, stream});
})
NCCL(ncclBroadcast, (const void* from, void* to, size_t count, int type, int root, Comm* comm, void* stream), {
  return enqueue({Func::broadcast, from, to, count, type, 0, root, comm, stream});
})
NCCL(ncclBcast, (void* at, size_t count, int type, int root, Comm* comm, void* stream), {
  return enqueue({Func::broadcast, at, at, count, type, 0, root, comm, stream});
})
NCCL(ncclAllGather, (const void* from, void* to, size_t count, int type, Comm* comm, void* stream), {
  return enqueue({Func::all_gather, from, to, count, type, 0, 0, comm, stream});
})
NCCL(ncclReduceScatter, (const void* from, void* to, size_t count, int type, int op, Comm* comm, void* stream), {
  return enqueue({Func::reduce_scatter, from, to, count, type, op, 0, comm, stream});
})
NCCL(ncclAlltoAll, (const void* from, void* to, size_t count, int type, Comm* comm, void* stream), {
  return enqueue({Func::all_to_all, from, to, count, type, 0, 0, comm, stream});
})
NCCL(ncclGather, (const void* from, void* to, size_t count, int type, int root, Comm* comm, void* stream), {
  return enqueue({Func::gather, from, to, count, type, 0, root, comm, stream});
})
NCCL(ncclScatter, (const void* from, void* to, size_t count, int type, int root, Comm* comm, void* stream), {
  return enqueue({Func::scatter, from, to, count, type, 0, root, comm, stream});
})
NCCL(ncclSend, (const void* from, size_t count, int type, int peer, Comm* comm, void* stream), {
  return enqueue({Func::send, from, nullptr, count, type, 0, peer, comm, stream});
})
NCCL(ncclRecv, (void* to, size_t count, int type, int peer, Comm* comm, void* stream), {
  return enqueue({Func::recv, nullptr, to, count, type, 0, peer, comm, stream});
})

// Registering memory changes nothing here.
NCCL(ncclCommRegister, (Comm*, void* at, size_t, void** handle), { return *handle = at, kSuccess; })
NCCL(ncclCommDeregister, (Comm*, void*), { return kSuccess; })
NCCL(ncclCommWindowRegister, (Comm*, void* at, size_t, void** window, int), { return *window = at, kSuccess; })
NCCL(ncclCommWindowDeregister, (Comm*, void*), { return kSuccess; })

EXPORT const char* pncclGetErrorString(int error) { return error == 0 ? "no error" : "simulated NCCL error"; }
EXPORT __attribute__((weak, alias("pncclGetErrorString"))) const char* ncclGetErrorString(int error);
EXPORT const char* pncclGetLastError(const Comm*) { return ""; }
EXPORT __attribute__((weak, alias("pncclGetLastError"))) const char* ncclGetLastError(const Comm*);
