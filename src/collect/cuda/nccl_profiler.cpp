#include "collect/cuda/nccl_profiler.h"

#include <string.h>
#include <unistd.h>

#include "base/keep_errno.h"
#include "base/nccl.h"
#include "collect/cuda/call.h"

namespace tprof::nccl {
namespace {

constexpr u32 kComms = 1024, kTransfers = 4096, kTries = 64;

// A communicator; the context that NCCL is given. Those beyond the table share `g_unknown`.
struct Comm {
  std::atomic<bool> used{false};
  u64 group = 0;
  u32 ranks = 0;
  i32 rank = -1;
};
constinit Comm g_comms[kComms];
constinit Comm g_unknown;

// A transfer that is under way. `state` grows by 4 from one use to the next; its lowest bits: 0 free, 1 open, 2 in
// work.
struct Transfer {
  std::atomic<u32> state{0};
  u64 begin_ticks = 0;
  u32 operation = 0, pieces = 0, piece_bytes = 0;
  i32 peer = -1;
  u16 channel = 0;
  u8 sends = 0;
};
constinit Transfer g_transfers[kTransfers];
std::atomic<u32> g_next_transfer{0}, g_last_operation{0};

// Handles: the number of an operation << 2 | 1, or state << 16 | index << 2 | 2 of a transfer.
constexpr u64 kOperation = 1, kTransfer = 2, kTag = 3;
void* handle_of(u64 number) { return reinterpret_cast<void*>(number); }
u64 number_of(const void* handle) { return reinterpret_cast<u64>(handle); }

template <class Words>
u8 row_of(const Words& words, const char* text) {
  u8 row = 0;
  for (const auto& word : words) {
    if (text && word == text) return row;
    row++;
  }
  return kNcclUnknown;
}

u8 function_of(const char* text) {
  u8 row = 0;
  for (const NcclFunction& f : kNcclFunctions) {
    if (text && f.name == text) return row;
    row++;
  }
  return kNcclUnknown;
}

// Appends a record, all but its head.
template <class Record>
bool append(Kind kind, u32 id, const Record& record) {
  ThreadBlock* block = enter();
  if (!block) return false;
  u32 epoch = recording_epoch();
  char* at = nullptr;
  if (epoch != kNoEpoch) {
    bool fits = block->chunk && block->epoch == epoch && block->used + sizeof record <= kChunkBytes;
    at = fits ? reinterpret_cast<char*>(block->chunk) + block->used : call::make_room(block, epoch);
  }
  if (at) {
    memcpy(at + sizeof record.head, reinterpret_cast<const char*>(&record) + sizeof record.head,
           sizeof record - sizeof record.head);
    publish(block, at, kind, id, sizeof record);
  }
  leave(block);
  return at;
}

void* start_operation(const Comm& comm, u32 type, const Description& d) {
  NcclOpRecord r{};
  r.ticks = now_ticks();
  r.group = comm.group;
  r.ranks = comm.ranks;
  r.rank = comm.rank;
  if (type == kP2p) {
    r.count = d.p2p.count;
    r.peer = d.p2p.peer;
    r.function = function_of(d.p2p.function);
    r.type = row_of(kNcclTypes, d.p2p.type);
    r.algorithm = r.protocol = kNcclUnknown;
  } else {
    r.number = d.coll.number;
    r.count = d.coll.count;
    r.peer = d.coll.root;
    r.function = function_of(d.coll.function);
    r.type = row_of(kNcclTypes, d.coll.type);
    bool copied = type == kCeColl;
    r.algorithm = copied ? kNcclUnknown : row_of(kNcclAlgorithms, d.coll.algorithm);
    r.protocol = copied ? kNcclUnknown : row_of(kNcclProtocols, d.coll.protocol);
  }
  u32 number;
  do number = g_last_operation.fetch_add(1, std::memory_order_relaxed) + 1;
  while (!number);
  return append(Kind::nccl_op, number, r) ? handle_of(u64(number) << 2 | kOperation) : nullptr;
}

void* start_transfer(const Description& d) {
  u64 parent = number_of(d.parent);
  if ((parent & kTag) != kOperation || d.proxy.pid != getpid()) return nullptr;
  for (u32 i = 0; i < kTries; i++) {
    u32 index = g_next_transfer.fetch_add(1, std::memory_order_relaxed) % kTransfers;
    Transfer& t = g_transfers[index];
    u32 state = t.state.load(std::memory_order_relaxed);
    if (state & kTag || !t.state.compare_exchange_strong(state, state + 2, std::memory_order_acquire)) continue;
    t.begin_ticks = now_ticks();
    t.operation = u32(parent >> 2);
    t.pieces = u32(d.proxy.pieces);
    t.piece_bytes = u32(d.proxy.piece_bytes);
    t.peer = d.proxy.peer;
    t.channel = d.proxy.channel;
    t.sends = d.proxy.sends != 0;
    t.state.store(state + 1, std::memory_order_release);
    return handle_of(u64(state + 1) << 16 | index << 2 | kTransfer);
  }
  g_writer.drop(Drop::too_deep);
  return nullptr;
}

// Takes an open transfer into work; nullptr: the handle is none, or no longer.
Transfer* take(void* handle, u32* state) {
  u64 number = number_of(handle);
  u64 index = number >> 2 & 0x3fff;
  *state = u32(number >> 16);
  if ((number & kTag) != kTransfer || index >= kTransfers || (*state & kTag) != 1) return nullptr;
  Transfer& t = g_transfers[index];
  u32 open = *state;
  return t.state.compare_exchange_strong(open, *state + 1, std::memory_order_acquire) ? &t : nullptr;
}

}  // namespace

void* profiler_init(u64 comm, int ranks, int rank) {
  for (Comm& c : g_comms) {
    bool used = false;
    if (!c.used.compare_exchange_strong(used, true, std::memory_order_acquire)) continue;
    c.group = comm;
    c.ranks = ranks > 0 ? u32(ranks) : 0;
    c.rank = rank;
    return &c;
  }
  return &g_unknown;
}

void* profiler_start(void* context, u32 type, const Description& description) {
  if (gate_closed() || !context || (g_call_switches.load(std::memory_order_relaxed) & kCallsOff)) return nullptr;
  KeepErrno keep;
  switch (type) {
    case kColl:
    case kP2p:
    case kCeColl: return start_operation(*static_cast<const Comm*>(context), type, description);
    case kProxyOp: return start_transfer(description);
    default: return nullptr;
  }
}

// A transfer that waited for its turn until now.
void profiler_state(void* handle, int state) {
  u32 open;
  Transfer* t = state == kProxyOpInProgress ? take(handle, &open) : nullptr;
  if (!t) return;
  t->begin_ticks = now_ticks();
  t->state.store(open, std::memory_order_release);
}

void profiler_stop(void* handle) {
  KeepErrno keep;
  u32 open;
  Transfer* t = take(handle, &open);
  if (!t) return;
  NcclWireRecord r{};
  r.begin_ticks = t->begin_ticks;
  r.end_ticks = now_ticks();
  r.peer = t->peer;
  r.pieces = t->pieces;
  r.piece_bytes = t->piece_bytes;
  r.channel = t->channel;
  r.sends = t->sends;
  u32 operation = t->operation;
  t->state.store(open + 3, std::memory_order_release);
  append(Kind::nccl_wire, operation, r);
}

void profiler_finalize(void* context) {
  auto* c = static_cast<Comm*>(context);
  if (c >= g_comms && c < g_comms + kComms) c->used.store(false, std::memory_order_release);
}

}  // namespace tprof::nccl
