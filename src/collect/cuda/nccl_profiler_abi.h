// NCCL's profiler plugin interface, versions 4 to 6, as far as it is read: own declarations. The descriptions of the
// three versions differ in the width of `type` alone; what later versions add lies at the end of each part.
#pragma once
#include <stddef.h>
#include <sys/types.h>

#include "base/types.h"

namespace tprof::nccl {

enum EventType : u32 {
  kColl = 1 << 1,
  kP2p = 1 << 2,
  kProxyOp = 1 << 3,
  kCeColl = 1 << 12,  // by copy engines; from version 6 on
};
constexpr int kProxyOpInProgress = 19;  // a state

struct CollPart {
  u64 number;  // among those of the function and the communicator
  const char* function;
  const void* from;
  void* to;
  size_t count;
  int root;
  const char* type;
  // Not with kCeColl.
  u8 channels, warps;
  const char *algorithm, *protocol;
};
struct P2pPart {
  const char* function;
  void* buffer;
  const char* type;
  size_t count;
  int peer;
  u8 channels;
};
struct ProxyOpPart {
  pid_t pid;  // of the process whose operation it is: the proxy may serve another one
  u8 channel;
  int peer, pieces, piece_bytes, sends;
};

struct Description {
  u64 type;  // version 4: its first byte
  void* parent;
  int rank;
  union {
    CollPart coll;
    P2pPart p2p;
    ProxyOpPart proxy;
  };
};
static_assert(offsetof(Description, parent) == 8 && offsetof(Description, rank) == 16);
static_assert(offsetof(Description, coll) == 24 && offsetof(CollPart, type) == 48 &&
              offsetof(CollPart, algorithm) == 64);
static_assert(offsetof(P2pPart, count) == 24 && offsetof(P2pPart, peer) == 32);
static_assert(offsetof(ProxyOpPart, peer) == 8 && offsetof(ProxyOpPart, sends) == 20);

using Log = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);

struct TableV4 {
  const char* name;
  int (*init)(void** context, int* mask, const char* comm_name, u64 comm, int nodes, int ranks, int rank, Log);
  int (*start)(void* context, void** handle, void* description);
  int (*stop)(void* handle);
  int (*state)(void* handle, int state, void* arguments);
  int (*finalize)(void* context);
};
struct TableV5 {  // and 6
  const char* name;
  int (*init)(void** context, u64 comm, int* mask, const char* comm_name, int nodes, int ranks, int rank, Log);
  int (*start)(void* context, void** handle, void* description);
  int (*stop)(void* handle);
  int (*state)(void* handle, int state, void* arguments);
  int (*finalize)(void* context);
};

}  // namespace tprof::nccl
