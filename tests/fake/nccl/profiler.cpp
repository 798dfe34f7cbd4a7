#include "profiler.h"

#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "operations.h"
#include "profiler_plugin.h"
#include "switches.h"

namespace sim_nccl {
namespace {

struct Plugin : ProfilerPlugin {
  int mask = 0;
};

Plugin load() {
  Plugin plugin;
  const char* name = getenv("NCCL_PROFILER_PLUGIN");
  int newest = int(number_of(Switch::SIMNCCL_PROFILER));
  if (!name || strcasecmp(name, "none") == 0 || newest < 4) return plugin;
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  for (int version = newest; library && version >= 4 && !plugin.find(library, version);) version--;
  return plugin;
}

Plugin& plugin() {
  static Plugin loaded = load();
  return loaded;
}

template <class Fill>
void* start(const Comm& comm, u32 type, void* parent, Fill fill) {
  void* handle = nullptr;
  plugin().start(comm.profiler, &handle, type, parent, [&](auto& description) {
    description.rank = comm.world->rank;
    fill(description);
  });
  return handle;
}

void stop(void* handle) {
  if (handle) plugin().table->stop(handle);
}

}  // namespace

void profiler_meets(Comm& comm) {
  Plugin& p = plugin();
  if (!p.table) return;
  const World& w = *comm.world;
  if (p.init(&comm.profiler, &p.mask, comm.hash, w.ranks, w.rank) != 0) p.table = nullptr;
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
