// Records one call into CUDA or NCCL: what every wrapper of shim/hooks.def does around the real function.
//
// The record is written before the call and completed after it, so that a call that never returns is recorded. In
// between tprof holds no lock or state: the call may block, outlive its window, or enter tprof again.
#pragma once
#include <atomic>

#include "base/clock.h"
#include "base/options.h"
#include "collect/cuda/comms.h"
#include "collect/recorder/recorder.h"

namespace tprof {

// A call inside another call of the same API is not recorded. These are the bits of ThreadSelf::calls.
enum CallApi : u8 { kApiCuda = 1, kApiNccl = 2, kApiCudaDriver = 4 };

// One exported function: what it is, and its name.
struct CallKind {
  CallApi api;
  CallFamily family;
  u8 flags;  // CallFlag
};
struct CallName {
  const char* text;
  std::atomic<u64> interned{0};  // generation of the recording << 32 | name id
};

// What a row of the table takes from the arguments, see CallRecord.
struct CallPayload {
  u64 address = 0, bytes = 0, stream = 0;
  i32 device = -1;
  u32 detail = 0;
  NcclPart on = no_comm();  // with kCallOnComm
};

struct OpenCall {
  RecordRef ref;  // 0: not recorded
  u32 epoch;
};

// One load. In a helper process it is always true, since the leader has to be looked at.
inline bool calls_wanted() { return __builtin_expect(!gate_closed(), 0); }
// A bit for each CallFamily whose calls carry stacks, as TPROF_WITH_STACK and TPROF_STACK_ON request. And kCallsOff,
// which is set for good where TPROF_ACTIVITIES excludes the GPU side.
extern std::atomic<u32> g_call_switches;
constexpr u32 kCallsOff = 1u << 31;
void calls_switch_off();
// Its functions for the session.
struct Collector;
extern const Collector kCallCollector;

// The rare parts. They preserve errno, which belongs to the program.
namespace call {
void follow();
void refused();
char* make_room(ThreadBlock* block, u32 epoch);
u32 intern(ThreadBlock* block, CallName& name, u32 generation);
StackRef stack(ThreadBlock* block);
void ends_elsewhere(ThreadBlock* block, u32 epoch, RecordRef ref, u64 ticks);
}  // namespace call

inline void fill_call(CallRecord& r, u8 flags, const CallPayload& payload) {
  r.address = payload.address;
  r.bytes = payload.bytes;
  r.stream = payload.stream;
  r.device = i8(payload.device);
  r.detail = u8(payload.detail);
  if (flags & kCallOnComm) *reinterpret_cast<NcclPart*>(&r + 1) = payload.on;
}
constexpr u32 call_bytes(u8 flags) { return sizeof(CallRecord) + (flags & kCallOnComm ? sizeof(NcclPart) : 0); }

__attribute__((always_inline)) inline OpenCall call_begins(CallKind kind, CallName& name, const CallPayload& payload) {
  u32 switches = g_call_switches.load(std::memory_order_relaxed);
  if (__builtin_expect(switches & kCallsOff, 0)) return {};
  ThreadBlock* block = enter();
  if (__builtin_expect(!block, 0)) return call::refused(), OpenCall{};
  // The epoch is read between enter() and leave(): otherwise quiesce() might not wait for this thread's write.
  if (__builtin_expect(follows_leader(), 0)) call::follow();
  u32 epoch = recording_epoch();
  if (__builtin_expect(epoch == kNoEpoch, 0)) return leave(block), OpenCall{};
  OpenCall open{};
  u32 used = block->used;
  char* at = reinterpret_cast<char*>(block->chunk);
  if (__builtin_expect(block->epoch != epoch, 0) || __builtin_expect(!at, 0) ||
      __builtin_expect(used + call_bytes(kind.flags) > kChunkBytes, 0)) {
    at = call::make_room(block, epoch);
    used = block->used;
  } else {
    at += used;
  }
  if (__builtin_expect(at != nullptr, 1)) {
    u64 interned = name.interned.load(std::memory_order_relaxed);
    u32 generation = g_generation.load(std::memory_order_relaxed);
    u32 id = __builtin_expect(interned >> 32 == generation, 1) ? u32(interned) : call::intern(block, name, generation);
    auto& r = *reinterpret_cast<CallRecord*>(at);
    bool with_stack = switches >> u32(kind.family) & 1;
    r.stack = __builtin_expect(with_stack, 0) ? call::stack(block) : StackRef{};
    r.end_ticks = 0;
    fill_call(r, kind.flags, payload);
    r.result = 0;
    r.family = u8(kind.family);
    r.flags = kind.flags;
    open = {RecordRef(block->chunk_index) << 32 | used, epoch};
    r.begin_ticks = now_ticks();  // last, so that tprof's own work stays outside of the call
    publish(block, at, Kind::call, id, call_bytes(kind.flags));
    will_write(at + kWrittenAhead);
  }
  leave(block);
  return open;
}

// `late`: the payload if it is known only after the call, else nullptr.
__attribute__((always_inline)) inline void call_ends(const OpenCall& open, u64 ticks, i32 result,
                                                     const CallPayload* late) {
  ThreadBlock* block = enter();
  if (__builtin_expect(!block, 0)) return call::refused();
  // A call that outlives its window stays unfinished in it, as ranges do.
  u32 epoch = recording_epoch();
  bool here = open.epoch == epoch && block->epoch == epoch && block->chunk && block->chunk_index == open.ref >> 32;
  if (__builtin_expect(here, 1)) {
    auto& r = *reinterpret_cast<CallRecord*>(reinterpret_cast<char*>(block->chunk) + u32(open.ref));
    if (late) fill_call(r, r.flags, *late);
    r.result = result;
    r.end_ticks = ticks;
  } else if (is_same_window(open.epoch, epoch)) {
    call::ends_elsewhere(block, epoch, open.ref, ticks);
  }
  leave(block);
}

// Calls that return something through pointers, which may be read only after success.
constexpr bool gives_back(CallFamily family) {
  return family == CallFamily::alloc || family == CallFamily::stream || family == CallFamily::comm;
}
// A communicator that does not block is made while the call that makes it has returned.
constexpr i32 kNcclInProgress = 7;
constexpr bool succeeded(CallKind kind, i32 result) {
  return result == 0 || (kind.family == CallFamily::comm && result == kNcclInProgress);
}
// Takes the place of `ok` in the rows of all other families, where it has no meaning.
struct NoMatter {};

// `real()` makes the call. `payload(ok)` describes its arguments; `ok` is true after a call that succeeded.
template <CallKind kind, class Real, class Payload>
__attribute__((always_inline)) inline i32 record_call(CallName& name, Real real, Payload payload) {
  u8 around = t_self.calls;
  if (around & kind.api) return real();
  OpenCall open;
  if constexpr (gives_back(kind.family))
    open = call_begins(kind, name, payload(false));
  else
    open = call_begins(kind, name, payload(NoMatter{}));
  t_self.calls = around | kind.api;
  i32 result = real();
  u64 ticks = __builtin_expect(open.ref != 0, 1) ? now_ticks() : 0;
  if constexpr (gives_back(kind.family)) {
    // Communicators are remembered while nothing is recorded, too.
    bool wanted = open.ref || kind.family == CallFamily::comm;
    CallPayload late = wanted ? payload(succeeded(kind, result)) : CallPayload{};
    if (open.ref) call_ends(open, ticks, result, &late);
  } else if (__builtin_expect(open.ref != 0, 1)) {
    call_ends(open, ticks, result, nullptr);
  }
  t_self.calls = around;
  return result;
}

}  // namespace tprof
