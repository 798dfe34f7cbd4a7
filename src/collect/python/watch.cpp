#include "collect/python/watch.h"

#include <string.h>

#include "collect/labels.h"
#include "collect/python/calls.h"
#include "collect/python/function_hook.h"
#include "collect/recorder.h"
#include "collect/session.h"
#include "collect/torch/attach.h"
#include "collect/torch/backward.h"
#include "collect/torch/marks.h"

namespace tprof {
namespace {

PyWord g_name{"name"}, g_training{"training"}, g_enabled{"_enabled"}, g_code{"__code__"};

bool g_modules_wanted;  // calls of modules will be recorded

PyObject* g_module_call;  // if it is hooked

// Module calls inside module calls.
__thread u32 t_modules __attribute__((tls_model("initial-exec")));

// record_function's __enter__ and __exit__, if they are hooked.
PyObject *g_enter_label, *g_leave_label;

// While everything is recorded, torch tells of labels. What was announced before still ends.
void follow_level() {
  static bool enters = true, leaves = true;
  bool wanted = !g_session.hears_all(), open = !wanted && labels_announced();
  if (enters != wanted && g_enter_label) {
    enters = wanted;
    g_labels_watched.store(wanted, std::memory_order_relaxed);
    wanted ? resume_hook(g_enter_label) : pause_hook(g_enter_label);
  }
  if (leaves != (wanted || open) && g_leave_label) {
    leaves = wanted || open;
    leaves ? resume_hook(g_leave_label) : pause_hook(g_leave_label);
  }
}

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
  follow_level();
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
  follow_level();
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

void label_entered(PyObject* label) {
  PyOwned name(py_attribute(label, g_name));
  const char* text = py_text(name.get());
  if (*text) label_announced(label, text);
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
  follow_level();
  backward_begins();
  PyObject* result = g_call_function(function, args, count, names);
  backward_returns();
  return result;
}

PyObject* enter_label_hook(PyObject* function, PyObject* const* args, size_t count, PyObject* names) {
  if (hooked_count(count) > 0) label_entered(args[0]);
  return g_call_function(function, args, count, names);
}

PyObject* leave_label_hook(PyObject* function, PyObject* const* args, size_t count, PyObject* names) {
  PyObject* label = hooked_count(count) > 0 ? args[0] : nullptr;
  PyObject* result = g_call_function(function, args, count, names);
  if (label) label_left(label);
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
} kHooks[] = {{"module", module_hook},           {"backward", backward_hook},       {"enter_label", enter_label_hook},
              {"leave_label", leave_label_hook}, {"batch", batch_hook},             {"scaler", scaler_hook}};

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
  if (hook == enter_label_hook) g_enter_label = args[1];
  if (hook == leave_label_hook) g_leave_label = args[1];
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
