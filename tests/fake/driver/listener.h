// What the simulated driver tells the simulated CUPTI.
#pragma once
#include "objects.h"

namespace sim {

enum class Domain : u8 { driver = 1, runtime = 2 };  // as CUPTI's callback domains

struct Call {
  Domain domain = Domain::runtime;
  u32 cbid = 0;
  const char* name = nullptr;
  const void* parameters = nullptr;
  int result = 0;
  u32 correlation = 0;
  u64 begin = 0, end = 0, scratch = 0;
  Call* outer = nullptr;
  bool refused = false;  // SIMCUDA_FAIL: `result` is the answer, the work is not done
};

struct Op {
  enum Kind : u8 { kernel, copy, fill, graph } kind = kernel;
  u64 queued = 0, begin = 0, end = 0;
  u32 device = 0, context = 0, stream = 0, correlation = 0, graph_id = 0;
  u64 graph_node = 0;
  const Kernel* launched = nullptr;
  Dim grid, block, cluster;
  u32 shared_bytes = 0;
  u64 bytes = 0;
  CopyKind copy_kind = CopyKind::htod;
  MemoryKind from_kind = MemoryKind::unknown, to_kind = MemoryKind::unknown;
  bool async = false;
  u32 value = 0, from_device = 0, to_device = 0;
};

// How a thread waited; numbered as CUPTI numbers them.
enum class SyncKind : u32 { event = 1, stream_waits = 2, stream = 3, context = 4 };

struct Sync {
  SyncKind kind;
  u64 begin, end;
  u32 correlation, context, stream, event;
};

struct EventRecord {
  u32 correlation, device, context, stream, event;
  u64 time;
};

struct MemoryEvent {
  bool allocated, async;
  MemoryKind kind;
  u64 address, bytes, time;
  u32 correlation, device, context, stream;
  const Pool* pool;
};

enum class PoolAction : u32 { created = 1, destroyed = 2, trimmed = 3 };

struct Listener {
  virtual void enter(Call&) = 0;
  virtual void leave(Call&) = 0;
  virtual void op(const Op&) = 0;
  virtual void sync(const Sync&) = 0;
  virtual void event(const EventRecord&) = 0;
  virtual void memory(const MemoryEvent&) = 0;
  virtual void pool(PoolAction, const Pool&, u64 time, u64 kept_bytes, u32 correlation) = 0;
  virtual void context(const Context&) = 0;
  virtual void stream(const Stream&, u32 correlation) = 0;
  virtual void loading(u64 begin, u64 end, u32 correlation) = 0;  // a kernel's code, at its first launch
};

}  // namespace sim
