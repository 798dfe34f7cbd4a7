#include "collect/python/watch.h"

#include <string.h>

#include "collect/labels.h"
#include "collect/python/calls.h"
#include "collect/python/function_hook.h"
#include "collect/recorder.h"
#include "collect/session.h"
#include "collect/torch/attach.h"
#include "collect/torch/backward.h"

namespace tprof {
namespace {

PyWord g_training{"training"}, g_enabled{"_enabled"}, g_code{"__code__"};

bool g_modules_wanted;  // calls of modules will be recorded

PyObject* g_module_call;  // if it is hooked

// Module calls inside module calls.
__thread u32 t_modules __attribute__((tls_model("initial-exec")));

bool true_attribute(PyObject* object, PyWord& name, bool fallback) {
  PyObject* value = g_py.PyObject_GetAttr(object, name.get());
  if (!value) {
    g_py.PyErr_Clear();
    return fallback;
  }
  bool result = g_py.PyObject_IsTrue(value) == 1;
  g_py.Py_DecRef(value);
  return result;
}

// True if no other thread's calls matter.
__attribute__((noinline)) bool module_called(PyObject* module) {
  ThreadBlock* block = enter();
  if (!block) return false;
  bool inference = !torch_grad_enabled() || !true_attribute(module, g_training, true);
  bool alone = false;
  g_session.token(block->tid, false, [&](StepDetector& d) {
    d.module_called(before_labels(d, block, now_ticks()), module, inference);
    alone = g_session.step_thread_is_sure();
  });
  leave(block);
  return alone;
}

void batch_drawn() {
  ThreadBlock* block = enter();
  if (!block) return;
  g_session.token(block->tid, true, [](StepDetector& d) { d.load_ends(now_ticks(), true); });
  g_session.promote();
  leave(block);
}

void scaler_updated(PyObject* scaler) {
  ThreadBlock* block = enter();
  if (!block) return;
  if (true_attribute(scaler, g_enabled, false))
    g_session.token(block->tid, true, [](StepDetector& d) { d.scaler_updated(now_ticks()); });
  leave(block);
}

// --- hooks. No exception is pending when a function is called; one is when it has no result.

// Calls inside a call matter only where they are recorded; else the hook makes way for the time of the outermost.
PyObject* module_hook(PyObject* function, PyObject* const* args, size_t count, PyObject* names) {
  bool recorded = calls_are_recorded() && hooked_count(count) > 0;
  u32 around = t_modules++;
  bool alone = around == 0 && hooked_count(count) > 0 && module_called(args[0]);
  bool makes_way = alone && !g_modules_wanted;
  if (recorded) call_starts(g_module_code, args[0]);
  if (makes_way) pause_hook(function);
  PyObject* result = g_call_function(function, args, count, names);
  if (makes_way) resume_hook(function);
  t_modules = around;
  if (recorded) call_ends(g_module_code);
  return result;
}

PyObject* backward_hook(PyObject* function, PyObject* const* args, size_t count, PyObject* names) {
  backward_begins();
  PyObject* result = g_call_function(function, args, count, names);
  backward_returns();
  return result;
}

PyObject* batch_hook(PyObject* function, PyObject* const* args, size_t count, PyObject* names) {
  PyObject* result = g_call_function(function, args, count, names);
  if (result) batch_drawn();
  return result;
}

PyObject* scaler_hook(PyObject* function, PyObject* const* args, size_t count, PyObject* names) {
  PyObject* result = g_call_function(function, args, count, names);
  if (result && hooked_count(count) > 0) scaler_updated(args[0]);
  return result;
}

constexpr struct {
  const char* kind;
  PyHook* hook;
} kHooks[] = {{"module", module_hook}, {"backward", backward_hook}, {"batch", batch_hook}, {"scaler", scaler_hook}};

PyHook* hook_of(const char* kind) {
  for (const auto& known : kHooks)
    if (!strcmp(known.kind, kind)) return known.hook;
  return nullptr;
}

}  // namespace

PyObject* watch_function(PyObject*, PyObject* const* args, PySize count) {
  PyHook* hook = count == 3 ? hook_of(py_text(args[0])) : nullptr;
  if (!hook || !hook_function(args[1], args[2], hook)) return g_py.new_none();
  if (hook == module_hook) {
    g_module_code = py_attribute(args[1], g_code);
    const Options& o = g_session.options();
    g_modules_wanted = o.with_modules || o.with_stack.has(kStackCalls);
    g_module_call = args[1];
  }
  return g_py.PyUnicode_FromString("yes");
}

PyObject* watch_switch(PyObject*, PyObject* const* args, PySize count) {
  switch_hooks(count == 1 && g_py.PyObject_IsTrue(args[0]) == 1);
  return g_py.new_none();
}

void watch_in_child() {
  t_modules = 0;
  if (g_module_call) resume_hook(g_module_call);
}

PyObject* watch_backward_begins(PyObject*, PyObject* const*, PySize) {
  backward_begins();
  return g_py.new_none();
}

PyObject* watch_backward_ends(PyObject*, PyObject* const*, PySize) {
  backward_returns();
  return g_py.new_none();
}

PyObject* watch_scaler_updated(PyObject*, PyObject* const* args, PySize count) {
  if (count > 0) scaler_updated(args[0]);
  return g_py.new_none();
}

}  // namespace tprof
