#include "collect/python/watch.h"

#include <string.h>

#include "collect/labels.h"
#include "collect/python/calls.h"
#include "collect/recorder.h"
#include "collect/session.h"
#include "collect/torch/attach.h"
#include "collect/torch/backward.h"
#include "collect/torch/marks.h"

namespace tprof {
namespace {

// The code objects watched; one reference each is kept for ever, so their addresses stay theirs.
PyObject* g_module_code;
PyObject* g_batch_code;
PyObject* g_scaler_code;
PyObject* g_backward_code[2];  // torch.autograd.backward, torch.autograd.grad
PyObject* g_label_code[2];     // record_function.__enter__, __exit__

bool is_backward(PyObject* code) { return code == g_backward_code[0] || code == g_backward_code[1]; }

// Of the function that contains the call.
#define STACK_HERE reinterpret_cast<uintptr_t>(__builtin_frame_address(0))

// Which module call of a thread is the outermost. A nested call runs deeper in the C stack than the call around
// it (calling an object goes through C in every Python so far), so one that is not deeper is a new outermost one,
// also when the last ended with an exception that we did not see (before 3.12).
struct ModuleDepth {
  uintptr_t root;  // stack address at the outermost call
  u32 depth;
};
__thread ModuleDepth t_modules __attribute__((tls_model("initial-exec")));

PyWord g_self{"self"}, g_name{"name"}, g_training{"training"}, g_enabled{"_enabled"}, g_code{"f_code"},
    g_back{"f_back"};

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

// True if this call is an outermost one.
bool enter_module(uintptr_t stack) {
  ModuleDepth& m = t_modules;
  if (m.depth && stack < m.root) {
    m.depth++;
    return false;
  }
  m.root = stack;
  m.depth = 1;
  return true;
}

void module_called(PyObject* module) {
  ThreadBlock* block = enter();
  if (!block) return;
  bool inference = !torch_grad_enabled() || !true_attribute(module, g_training, true);
  g_session.token(block->tid, false,
                  [&](StepDetector& d) {
                    d.module_called(before_labels(d, block, now_ticks()), module, inference);
                  });
  leave(block);
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

// `self` of the Python function that is running; a new reference or nullptr. 3.12+.
PyObject* running_self() {
  PyObject* frame = g_py.PyEval_GetFrame();
  PyObject* self = frame ? g_py.PyFrame_GetVar(frame, g_self.get()) : nullptr;
  if (!self) g_py.PyErr_Clear();
  return self;
}

// Whether the module call that is running lies in another one of this thread. For hooks: walking is slow.
bool module_call_around() {
  KeepException keep;
  u32 calls = 0;
  PyObject* frame = g_py.PyEval_GetFrame();
  if (frame) g_py.Py_IncRef(frame);
  while (frame && calls < 2) {
    if (PyOwned code{py_attribute(frame, g_code)}) calls += code.get() == g_module_code;
    PyObject* back = py_attribute(frame, g_back);
    g_py.Py_DecRef(frame);
    frame = back;
  }
  g_py.Py_DecRef(frame);
  return calls == 2;
}

// The label whose __enter__ is running.
void label_entered() {
  KeepException keep;
  PyObject* self = running_self();
  PyObject* name = self ? g_py.PyObject_GetAttr(self, g_name.get()) : nullptr;
  const char* text = name ? g_py.PyUnicode_AsUTF8(name) : nullptr;
  if (text) label_announced(self, text);
  g_py.PyErr_Clear();
  g_py.Py_DecRef(name);
  g_py.Py_DecRef(self);
}

void label_exited() {
  KeepException keep;
  if (PyOwned self{running_self()}) label_left(self.get());
}

void module_starts(PyObject* code, uintptr_t stack) {
  bool outermost = enter_module(stack);
  if (!outermost && !modules_are_recorded()) return;
  KeepException keep;
  PyOwned self(running_self());
  if (outermost && self) module_called(self.get());
  if (modules_are_recorded()) call_starts(code, self.get());
}

// In whatever way.
void code_ends(PyObject* code) {
  bool module = code == g_module_code;
  if (calls_are_recorded() || (module && modules_are_recorded())) call_ends(code);
  if (module) {
    if (t_modules.depth) t_modules.depth--;
  } else if (code == g_label_code[1]) {
    label_exited();
  } else if (is_backward(code)) {
    backward_returns();
  }
}

}  // namespace

PyObject* watch_code(PyObject*, PyObject* const* args, PySize count) {
  const char* kind = count == 2 ? g_py.PyUnicode_AsUTF8(args[0]) : nullptr;
  PyObject** slot = !kind                      ? nullptr
                    : !strcmp(kind, "module")  ? &g_module_code
                    : !strcmp(kind, "batch")   ? &g_batch_code
                    : !strcmp(kind, "scaler")  ? &g_scaler_code
                    : !strcmp(kind, "backward") ? &g_backward_code[g_backward_code[0] ? 1 : 0]
                    : !strcmp(kind, "label") ? &g_label_code[g_label_code[0] ? 1 : 0]
                                               : nullptr;
  if (!slot || *slot) return g_py.new_none();
  g_py.Py_IncRef(args[1]);
  *slot = args[1];
  g_py.Py_IncRef(args[1]);
  return args[1];  // anything true
}

PyObject* watch_code_starts(PyObject*, PyObject* const* args, PySize count) {
  if (count == 0) return g_py.none;
  PyObject* code = args[0];
  if (code == g_module_code) {
    module_starts(code, STACK_HERE);
    return g_py.none;
  }
  if (code == g_label_code[0])
    label_entered();
  else if (is_backward(code))
    backward_begins(STACK_HERE);
  if (calls_are_recorded()) call_starts(code, nullptr);  // behind what it tells of steps: it lies in its step
  return g_py.none;
}

PyObject* watch_code_returns(PyObject*, PyObject* const* args, PySize count) {
  if (count == 0) return g_py.none;
  PyObject* code = args[0];
  code_ends(code);
  if (code == g_batch_code) {
    batch_drawn();
  } else if (code == g_scaler_code) {
    KeepException keep;
    if (PyOwned self{running_self()}) scaler_updated(self.get());
  }
  return g_py.none;
}

PyObject* watch_code_unwinds(PyObject*, PyObject* const* args, PySize count) {
  if (count > 0) code_ends(args[0]);
  return g_py.none;
}

PyObject* watch_module_begins(PyObject*, PyObject* const* args, PySize count) {
  if (t_modules.depth && !module_call_around()) t_modules.depth = 0;  // an exception ended it: no hook was called
  if (count > 0 && enter_module(STACK_HERE)) module_called(args[0]);
  return g_py.new_none();
}

PyObject* watch_module_ends(PyObject*, PyObject* const*, PySize) {
  if (t_modules.depth) t_modules.depth--;
  return g_py.new_none();
}

PyObject* watch_backward_begins(PyObject*, PyObject* const*, PySize) {
  backward_begins(STACK_HERE);
  return g_py.new_none();
}

PyObject* watch_backward_ends(PyObject*, PyObject* const*, PySize) {
  backward_returns();
  return g_py.new_none();
}

PyObject* watch_batch_drawn(PyObject*, PyObject* const*, PySize) {
  batch_drawn();
  return g_py.new_none();
}

PyObject* watch_scaler_updated(PyObject*, PyObject* const* args, PySize count) {
  if (count > 0) scaler_updated(args[0]);
  return g_py.new_none();
}

}  // namespace tprof
