// NCCL's profiler plugin interface, versions 4 to 6, as its headers have it (plugin/profiler/profiler_v4.h to v6), and
// how NCCL calls a plugin by it. For the simulated NCCL and for the tests of tprof's plugin. It shares nothing with
// src/collect/cuda/nccl_profiler_abi.h, so that a mistake there is seen.
#pragma once
#include <dlfcn.h>
#include <string.h>
#include <sys/types.h>

#include <string>

#include "types.h"

namespace sim_nccl {

using namespace sim;

enum Event : u32 { kGroup = 1, kColl = 2, kP2p = 4, kProxyOp = 8, kCollApi = 512, kP2pApi = 1024 };
constexpr int kProxyOpInProgress = 19;

struct CollPart {
  u64 number;
  const char* func;
  const void* from;
  void* to;
  size_t count;
  int root;
  const char* type;
  u8 channels, warps;
  const char *algorithm, *protocol;
  void* group;  // from version 5 on
};
struct P2pPart {
  const char* func;
  void* buffer;
  const char* type;
  size_t count;
  int peer;
  u8 channels;
  void* group;
};
struct ApiPart {
  const char* func;
  size_t count;
  const char* type;
  int root;
  void* stream;
  bool captured;
};
struct ProxyPart {
  pid_t pid;
  u8 channel;
  int peer, steps, chunk, is_send;
};
template <class Number>  // of its kind: one byte until version 4, then eight
struct Description {
  Number type;
  void* parent;
  int rank;
  union {
    CollPart coll;
    P2pPart p2p;
    ApiPart api;
    ProxyPart proxy;
    char room[256];
  };
};

using Log = void (*)(int, unsigned long, const char*, int, const char*, ...);
inline void log_nothing(int, unsigned long, const char*, int, const char*, ...) {}

struct ProfilerTable {
  const char* name;
  void* init;
  int (*start)(void* context, void** handle, void* description);
  int (*stop)(void* handle);
  int (*state)(void* handle, int state, void* arguments);
  int (*finalize)(void* context);
};

struct ProfilerPlugin {
  int version = 0;
  const ProfilerTable* table = nullptr;

  // False: the library has no table of this version.
  bool find(void* library, int of_version) {
    std::string name = "ncclProfiler_v" + std::to_string(of_version);
    version = of_version;
    table = library ? static_cast<const ProfilerTable*>(dlsym(library, name.c_str())) : nullptr;
    return table != nullptr;
  }

  int init(void** context, int* mask, u64 comm, int ranks, int rank, Log log = log_nothing) const {
    using V4 = int (*)(void**, int*, const char*, u64, int, int, int, Log);
    using V5 = int (*)(void**, u64, int*, const char*, int, int, int, Log);
    return version < 5 ? reinterpret_cast<V4>(table->init)(context, mask, nullptr, comm, 1, ranks, rank, log)
                       : reinterpret_cast<V5>(table->init)(context, comm, mask, nullptr, 1, ranks, rank, log);
  }

  // `fill`: sets the rest of a description of either form.
  template <class Fill>
  int start(void* context, void** handle, u64 type, void* parent, Fill fill) const {
    auto with = [&](auto description) {
      memset(&description, 0, sizeof description);
      description.type = static_cast<decltype(description.type)>(type);
      description.parent = parent;
      fill(description);
      return table->start(context, handle, &description);
    };
    return version < 5 ? with(Description<u8>()) : with(Description<u64>());
  }
};

}  // namespace sim_nccl
