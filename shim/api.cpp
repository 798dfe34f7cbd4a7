// The exported side of include/tprof/tprof.h.
#include "collect/recorder/recorder.h"
#include "collect/session/session.h"
#include "export.h"

using namespace tprof;

// Marks the thread as inside tprof, as every hook does: a signal handler that calls these functions while the thread
// holds one of tprof's locks must not wait for it.
static int guarded(int (Session::*call)()) {
  ThreadBlock* block = g_session.attached() ? enter() : nullptr;
  if (!block) return -1;
  int result = (g_session.*call)();
  leave(block);
  return result;
}

extern "C" EXPORT int tprof_start() { return guarded(&Session::api_start); }
extern "C" EXPORT int tprof_stop() { return guarded(&Session::api_stop); }
extern "C" EXPORT int tprof_step() { return guarded(&Session::api_step); }
extern "C" EXPORT int tprof_flush() { return guarded(&Session::api_flush); }
extern "C" EXPORT int tprof_active() { return recording_epoch() != kNoEpoch && (recording_epoch() & 1); }

// A range that the program pushes has no object; its key is the address of its entry in this per-thread stack.
static __thread u8 t_pushed[256] __attribute__((tls_model("initial-exec")));
static __thread u32 t_depth __attribute__((tls_model("initial-exec")));

extern "C" EXPORT int tprof_range_push(const char* name) {
  if (!name || !g_session.attached()) return -1;
  u32 depth = t_depth++;
  ThreadBlock* block = depth < sizeof t_pushed ? enter() : nullptr;
  if (!block) return -1;
  u32 epoch = recording_epoch();
  RangeSlot slot;
  if (epoch != kNoEpoch) slot = begin_range(block, epoch, &t_pushed[depth]);
  if (slot.record) {
    u32 id = intern(block, name);
    *slot.record = {{}, 0, 0, u8(Scope::user), 0, 0, -1};
    slot.record->begin_ticks = now_ticks();
    commit_range(block, slot, id, 0);
  }
  leave(block);
  return slot.record ? 0 : -1;
}

extern "C" EXPORT int tprof_range_pop() {
  u64 t = now_ticks();
  if (t_depth == 0) return -1;
  u32 depth = --t_depth;
  ThreadBlock* block = depth < sizeof t_pushed ? enter() : nullptr;
  if (!block) return -1;
  bool ended = end_range(block, &t_pushed[depth], t);
  leave(block);
  return ended ? 0 : -1;
}
