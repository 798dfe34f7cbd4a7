#include "collect/python/calls.h"

#include "collect/interpreter/codes.h"
#include "collect/python/builtins.h"
#include "collect/python/modules.h"
#include "collect/recorder/recorder.h"
#include "collect/torch/ops.h"

namespace tprof {

constinit std::atomic<bool> g_calls_recorded{false};
PyObject* g_module_code;

namespace {

std::atomic<u32> g_round{0};

// Calls that were opened in an earlier round ended while nothing was recorded.
inline void begin_round(ThreadBlock* block) {
  u32 round = g_round.load(std::memory_order_relaxed);
  if (__builtin_expect(block->calls_round == round, 1)) return;
  block->calls_round = round;
  block->call_count = block->calls_beyond = 0;
}

inline void begin_call(ThreadBlock* block, u32 epoch, const void* key, u32 id, u32 module, u32 flags) {
  if (__builtin_expect(block->call_count == kMaxCalls, 0)) {
    block->calls_beyond++;
    return g_writer.drop(Drop::too_deep);
  }
  OpenRange& open = block->calls[block->call_count++];
  if (__builtin_expect(!block->announced, 0)) learn_thread(block);
  auto* r = reinterpret_cast<PythonCallRecord*>(reserve(block, epoch, sizeof(PythonCallRecord)));
  if (__builtin_expect(!r, 0)) {
    open = {key, nullptr, 0, kNoEpoch};
    return;
  }
  open = {key, &r->end_ticks, ref_of(block, r), epoch};
  r->end_ticks = 0;
  r->module = module;
  r->flags = flags;
  r->begin_ticks = now_ticks();  // last, so that tprof's own work stays outside of the call
  publish(block, reinterpret_cast<char*>(r), Kind::python_call, id, sizeof *r);
}

// Ends the innermost open call with this key, and those that were left open inside it.
__attribute__((noinline)) void end_call_slowly(ThreadBlock* block, const void* key, u64 ticks) {
  u32 at = block->call_count;
  while (at > 0 && block->calls[at - 1].key != key) at--;
  if (at == 0) return;
  u32 epoch = recording_epoch();
  for (u32 i = block->call_count; i-- > at - 1;) end_open(block, block->calls[i], epoch, ticks);
  block->call_count = at - 1;
}

inline void end_call(ThreadBlock* block, const void* key, u64 ticks) {
  if (__builtin_expect(block->calls_beyond != 0, 0)) {
    block->calls_beyond--;
    return;
  }
  u32 count = block->call_count;
  if (__builtin_expect(count == 0 || block->calls[count - 1].key != key, 0)) return end_call_slowly(block, key, ticks);
  block->call_count = count - 1;
  end_open(block, block->calls[count - 1], recording_epoch(), ticks);
}

// `begin` is called with the thread's block and the epoch, if something is being recorded.
template <class Begin>
__attribute__((always_inline)) inline void record(Begin begin) {
  if (recording_epoch() == kNoEpoch) return;
  ThreadBlock* block = enter();
  if (!block) return;
  // Read inside, so that who ends the window waits for this thread.
  u32 epoch = recording_epoch();
  if (epoch != kNoEpoch) {
    begin_round(block);
    begin(block, epoch);
  }
  leave(block);
}

inline void record_end(const void* key) {
  ThreadBlock* block = t_self.block;
  if (!block || block->call_count == 0 || block->calls_round != g_round.load(std::memory_order_relaxed)) return;
  u64 t = now_ticks();
  if (!enter()) return;
  end_call(block, key, t);
  leave(block);
}

}  // namespace

void calls_record(bool on) {
  if (!g_calls_recorded.exchange(on) && on) g_round++;
}

void call_starts(PyObject* code, PyObject* module) {
  record([=](ThreadBlock* block, u32 epoch) {
    begin_call(block, epoch, code, code_id(code), module ? module_id(module) : 0, 0);
  });
}

void call_ends(PyObject* code) { record_end(code); }

void builtin_starts(PyObject* callable, PyObject* first) {
  record([=](ThreadBlock* block, u32 epoch) {
    begin_call(block, epoch, callable, builtin_id(callable, first), 0, kPythonBuiltin);
  });
}

void builtin_ends(PyObject* callable) { record_end(callable); }

PyObject* watch_call_starts(PyObject*, PyObject* const* args, PySize count) {
  if (count > 0 && args[0] != g_module_code) call_starts(args[0], nullptr);
  return g_py.none;
}

PyObject* watch_call_ends(PyObject*, PyObject* const* args, PySize count) {
  if (count > 0 && args[0] != g_module_code) call_ends(args[0]);
  return g_py.none;
}

PyObject* watch_builtin_starts(PyObject*, PyObject* const* args, PySize count) {
  if (count == 4 && is_builtin(args[2])) builtin_starts(args[2], args[3]);
  return g_py.none;
}

PyObject* watch_builtin_ends(PyObject*, PyObject* const* args, PySize count) {
  if (count == 4 && is_builtin(args[2])) builtin_ends(args[2]);
  return g_py.none;
}

}  // namespace tprof
