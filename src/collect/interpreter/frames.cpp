#include "collect/interpreter/frames.h"

#include "collect/interpreter/frame_walk.h"
#include "collect/interpreter/inittab.h"
#include "collect/recorder/recorder.h"
#include "collect/recorder/stack_tree.h"
#include "collect/session/session.h"

namespace tprof {

std::atomic<bool> g_python_stacks{false};

namespace {

// The last walk of this thread, emptied if its ids are not valid any more.
WalkedStack& last_walk(ThreadBlock* block, bool cut) {
  WalkedStack& last = block->walked;
  u64 codes_ended = g_codes_ended.load(std::memory_order_acquire);
  u32 generation = g_generation.load(std::memory_order_relaxed);
  if (__builtin_expect(last.codes_ended != codes_ended || last.generation != generation || last.cut != cut, 0)) {
    last.count = 0;
    last.codes_ended = codes_ended;
    last.generation = generation;
    last.version++;
    last.cut = cut;
  }
  return last;
}

// A frame's node below its caller's. The interpreter's own frames have none: what they call is placed below their
// caller.
__attribute__((noinline)) u32 look_up(u32 caller, const RawFrame& frame) {
  i64 offset = offset_in_code(frame);
  if (offset < 0) return caller;
  u32 code = code_id(frame.code);
  u64 entered = g_frame_layout.at_bytes ? 0 : frame.at & kStackEntered;
  return code == kNoCode ? kStackLost : stack_node(caller, code, u64(offset) | entered);
}

inline u32 node_of(WalkedStack& last, u32 caller, const RawFrame& frame) {
  u64 spread = (reinterpret_cast<uintptr_t>(frame.code) ^ frame.at << 20 ^ caller) * 0x9e3779b97f4a7c15ull;
  KnownFrame& known = last.known[spread >> (64 - kKnownFrameBits)];
  if (__builtin_expect(known.code == frame.code && known.at == frame.at && known.caller == caller &&
                           known.version == last.version,
                       1))
    return known.node;
  known = {frame.code, frame.at, caller, look_up(caller, frame), last.version};
  return known.node;
}

// Whether an at::RecordFunction is on the C stack, in a frame close to this one, and so ends when that frame returns.
// Others are held by Python objects and may end at any time.
inline bool on_stack(const void* range) {
  return reinterpret_cast<uintptr_t>(range) - reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) < 4096;
}

__attribute__((noinline)) u32 walk(ThreadBlock* block, const char* innermost) {
  RawFrame raw[kMaxFrames];
  bool cut;
  u32 count = walk_frames(innermost, raw, cut);
  WalkedStack& last = last_walk(block, cut);
  // From the outermost frame inwards, as long as nothing changed.
  u32 i = 0;
  for (; i < count && i < last.count; i++) {
    const RawFrame& now = raw[count - 1 - i];
    if (last.frames[i].code != now.code || last.frames[i].at != now.at) break;
  }
  if (i == count) return count ? last.frames[count - 1].node : 0;  // the frames further in keep their ids, too
  u32 node = i ? last.frames[i - 1].node : cut ? stack_node(0, kStackCut, 0) : 0;
  // Since 3.12, a frame of the interpreter's own, which is not shown, precedes each frame with which it was entered.
  bool entered = i == 0 || offset_in_code(raw[count - i]) < 0;
  for (; i < count; i++) {
    const RawFrame& now = raw[count - 1 - i];
    bool marked = entered && !g_frame_layout.at_bytes && g_frame_layout.entered < 0;
    node = node_of(last, node, {now.code, now.at | (marked ? kStackEntered : 0)});
    last.frames[i] = {now.code, now.at, node};
    entered = offset_in_code(now) < 0;
  }
  last.count = count;
  return node;
}

}  // namespace

u32 walk_python_stack(ThreadBlock* block, const void* range) {
  const void* state = g_py.PyGILState_GetThisThreadState();
  const char* innermost = state ? innermost_frame(state, g_frame_layout) : nullptr;
  if (!innermost) return 0;
  WalkedStack& walked = block->walked;
  u32 around = block->open_count - (range ? 1 : 0);
  u32 node;
  const OperatorStack* outer = around ? &walked.operators[around - 1] : nullptr;
  if (outer && outer->frame == innermost && outer->range == block->open[around - 1].ref)
    node = outer->node;
  else
    node = walk(block, innermost);
  if (range) walked.operators[around] = {block->open[around].ref, on_stack(range) ? innermost : nullptr, node};
  return node;
}

bool python_stacks_wanted() {
  const WordSet& with = g_session.options().with_stack;
  return with.has(kStackOperators) || with.has(kStackNative);
}

void python_stacks_note() {
  if (!python_stacks_wanted()) return;
  bool on = g_python_stacks.load();
  g_session.capability("with_stack", on,
                       on                 ? ""
                       : python_process() ? frame_layout_why()
                                          : "this program runs no Python");
}

void python_stacks_start() {
  if (python_stacks_wanted() && !*frame_layout_why()) g_python_stacks.store(true, std::memory_order_release);
  python_stacks_note();
}

void python_stacks_stop() {
  constexpr u64 kPatienceNs = 10'000'000;
  if (g_python_stacks.exchange(false)) leave_hooks(kPatienceNs);
}

}  // namespace tprof
