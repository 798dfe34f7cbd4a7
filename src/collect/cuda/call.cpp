#include "collect/cuda/call.h"

#include "base/keep_errno.h"
#include "collect/interpreter/frames.h"
#include "collect/native/native.h"
#include "collect/session/collector.h"
#include "collect/session/session.h"

namespace tprof {

constinit std::atomic<u32> g_call_switches{0};

namespace {

constexpr u32 bit(CallFamily family) { return 1u << u32(family); }

void take_stacks(const Options& options, bool) {
  u32 families = 0;
  if (options.stack_on.has(kStackOnLaunch))
    families |= bit(CallFamily::launch) | bit(CallFamily::copy) | bit(CallFamily::set) | bit(CallFamily::graph);
  if (options.stack_on.has(kStackOnAlloc)) families |= bit(CallFamily::alloc) | bit(CallFamily::free);
  if (options.stack_on.has(kStackOnSync)) families |= bit(CallFamily::sync);
  bool wanted = options.with_stack.has(kStackOperators) || options.with_stack.has(kStackNative);
  g_call_switches.fetch_or(wanted ? families : 0);
}

}  // namespace

const Collector kCallCollector{.session_starts = take_stacks};

void calls_switch_off() { g_call_switches.fetch_or(kCallsOff); }

namespace call {

// Not inlined: the native walk starts at this frame, whose caller has call frame information.
__attribute__((noinline)) StackRef stack(ThreadBlock* block) {
  KeepErrno keep;
  return {python_stack(block), native_on() ? native_stack(block, __builtin_frame_address(0)) : 0};
}

void follow() {
  KeepErrno keep;
  g_session.follow(now_ticks());
}

void refused() {
  if (!t_self.inside) g_writer.drop(Drop::reentered);
}

char* make_room(ThreadBlock* block, u32 epoch) {
  KeepErrno keep;
  if (!block->torch_thread) learn_thread(block);
  return reserve_slowly(block, epoch);
}

u32 intern(ThreadBlock* block, CallName& name, u32 generation) {
  KeepErrno keep;
  u32 id = tprof::intern(block, name.text);
  if (id) name.interned.store(u64(generation) << 32 | id, std::memory_order_relaxed);
  return id;
}

void ends_elsewhere(ThreadBlock* block, u32 epoch, RecordRef ref, u64 ticks) {
  KeepErrno keep;
  add_range_end(block, epoch, ref, ticks);
}

}  // namespace call
}  // namespace tprof
