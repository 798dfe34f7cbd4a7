#include "collect/call.h"

#include <errno.h>

#include "collect/session.h"
#include "collect/torch/ops.h"

namespace tprof {

constinit std::atomic<bool> g_calls_off{false};

namespace {

struct KeepErrno {
  int saved = errno;
  ~KeepErrno() { errno = saved; }
};

}  // namespace

namespace call {

void follow() {
  KeepErrno keep;
  g_session.follow(now_ticks());
}

void refused() {
  if (!t_self.inside) g_writer.drop(Drop::reentered);
}

char* room(ThreadBlock* block, u32 epoch) {
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

// Not inlined: the frame it starts from is this one's, its callers have call frame information.
__attribute__((noinline)) u32 native(ThreadBlock* block) { return native_stack(block, __builtin_frame_address(0)); }

}  // namespace call
}  // namespace tprof
