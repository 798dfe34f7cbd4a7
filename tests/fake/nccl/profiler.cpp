#include "profiler.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <string>

#include "operations.h"
#include "switches.h"

namespace sim_nccl {
namespace {

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
    char room[160];
  };
};
using Log = void (*)(int, unsigned long, const char*, int, const char*, ...);

struct Table {
  const char* name;
  void* init;
  int (*start)(void* context, void** handle, void* description);
  int (*stop)(void* handle);
  int (*state)(void* handle, int state, void* arguments);
  int (*finalize)(void* context);
};

struct Plugin {
  int version = 0;
  const Table* table = nullptr;
  int mask = 0;
};

void log_nothing(int, unsigned long, const char*, int, const char*, ...) {}

Plugin load() {
  Plugin plugin;
  const char* name = getenv("NCCL_PROFILER_PLUGIN");
  int newest = int(number_of(Switch::SIMNCCL_PROFILER));
  if (!name || strcasecmp(name, "none") == 0 || newest < 4) return plugin;
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  for (int version = newest; library && version >= 4 && !plugin.table; version--) {
    plugin.table = static_cast<const Table*>(dlsym(library, ("ncclProfiler_v" + std::to_string(version)).c_str()));
    plugin.version = version;
  }
  return plugin;
}

Plugin& plugin() {
  static Plugin loaded = load();
  return loaded;
}

template <class Number, class Fill>
void* start_as(const Comm& comm, u32 type, void* parent, Fill fill) {
  Description<Number> description;
  memset(&description, 0, sizeof description);
  description.type = Number(type);
  description.parent = parent;
  description.rank = comm.world->rank;
  fill(description);
  void* handle = nullptr;
  plugin().table->start(comm.profiler, &handle, &description);
  return handle;
}

template <class Fill>
void* start(const Comm& comm, u32 type, void* parent, Fill fill) {
  return plugin().version < 5 ? start_as<u8>(comm, type, parent, fill) : start_as<u64>(comm, type, parent, fill);
}

void stop(void* handle) {
  if (handle) plugin().table->stop(handle);
}

}  // namespace

void profiler_meets(Comm& comm) {
  Plugin& p = plugin();
  if (!p.table) return;
  World& w = *comm.world;
  int failed;
  if (p.version < 5) {
    using Init = int (*)(void**, int*, const char*, u64, int, int, int, Log);
    failed = reinterpret_cast<Init>(p.table->init)(&comm.profiler, &p.mask, nullptr, comm.hash, 1, w.ranks, w.rank,
                                                   log_nothing);
  } else {
    using Init = int (*)(void**, u64, int*, const char*, int, int, int, Log);
    failed = reinterpret_cast<Init>(p.table->init)(&comm.profiler, comm.hash, &p.mask, nullptr, 1, w.ranks, w.rank,
                                                   log_nothing);
  }
  if (failed) p.table = nullptr;
}

void profiler_leaves(Comm& comm) {
  if (plugin().table && comm.profiler) plugin().table->finalize(comm.profiler);
}

Profiled profiler_starts(const Operation& op) {
  Plugin& p = plugin();
  Comm& comm = *op.comm;
  u64 number = comm.counts[int(op.func)]++;
  Profiled out;
  if (!p.table) return out;
  bool pair = is_pair(op.func);
  const char *func = text_of(op.func), *type = type_of(op.type)->text;
  void* api = nullptr;
  if (p.version >= 5 && (p.mask & (pair ? kP2pApi | kP2p : kCollApi | kColl)))
    api = start(comm, pair ? kP2pApi : kCollApi, nullptr,
                [&](auto& d) { d.api = {func, op.count, type, op.root, op.stream, false}; });
  if (p.mask & (kGroup | kColl | kP2p | kProxyOp)) out.group = start(comm, kGroup, nullptr, [](auto&) {});
  void* parent = p.version < 5 ? out.group : api;
  if (!pair && (p.mask & (kColl | kProxyOp)))
    out.operation = start(comm, kColl, parent, [&](auto& d) {
      d.coll = {number, func, op.from, op.to, op.count, op.root, type, 2, 16, "RING", "LL", out.group};
    });
  if (pair && (p.mask & (kP2p | kProxyOp)))
    out.operation =
        start(comm, kP2p, parent, [&](auto& d) { d.p2p = {func, op.to, type, op.count, op.root, 2, out.group}; });
  stop(out.operation);
  stop(out.group);
  stop(api);
  if (!(p.mask & kProxyOp)) return out;
  int ranks = comm.world->ranks, rank = comm.world->rank;
  auto proxy = [&](bool sends) {
    int peer = pair ? op.root : (rank + (sends ? 1 : ranks - 1)) % ranks;
    void* handle =
        start(comm, kProxyOp, out.operation, [&](auto& d) { d.proxy = {getpid(), 0, peer, 4, 1 << 16, sends}; });
    u64 size = 0;
    if (handle) p.table->state(handle, kProxyOpInProgress, &size);
    return handle;
  };
  if (op.func != Func::recv) out.send = proxy(true);
  if (op.func != Func::send) out.receive = proxy(false);
  return out;
}

void profiler_stops(const Operation& op) {
  stop(op.profiled.send);
  stop(op.profiled.receive);
}

}  // namespace sim_nccl
