#include "collect/python/optimizers.h"

#include <string.h>

#include "collect/python/function_hook.h"

namespace tprof {
namespace {

PyWord g_dict{"__dict__"}, g_locals{"f_locals"}, g_back{"f_back"}, g_code{"f_code"}, g_name{"co_name"};

constexpr u32 kDeepest = 32;

PyObject* g_base;  // torch.optim.Optimizer

bool is_marked(PyObject* type) {
  PyOwned members(py_attribute(type, g_dict));
  PyOwned step(members ? g_py.PyMapping_GetItemString(members.get(), "step") : nullptr);
  if (!step) return g_py.PyErr_Clear(), false;
  if (!is_python_function(step.get())) return false;
  PyOwned attributes(g_py.PyObject_GenericGetAttr(step.get(), g_dict.get()));
  if (!attributes) return g_py.PyErr_Clear(), false;
  return g_py.PyDict_GetItemString(attributes.get(), "hooked") != nullptr;
}

bool any_marked(PyObject* type, u32 depth) {
  if (is_marked(type)) return true;
  PyOwned derived(depth < kDeepest ? g_py.PyObject_CallMethod(type, "__subclasses__", nullptr) : nullptr);
  if (!derived) return g_py.PyErr_Clear(), false;
  for (PySize i = 0, count = g_py.PyList_Size(derived.get()); i < count; i++)
    if (any_marked(g_py.PyList_GetItem(derived.get(), i), depth + 1)) return true;
  return false;
}

// --- the one that runs

bool is_optimizer(PyObject* object) {
  PyOwned type(g_py.PyObject_Type(object));
  return type && g_py.PyType_IsSubtype(type.get(), g_base);
}

// The first of a frame's `args`, a new reference, if that is an optimizer: in torch's wrapper of its step. To ask other
// frames for their variables might change what locals() returned there.
PyObject* stepped_by(PyObject* frame) {
  PyOwned code(py_attribute(frame, g_code)), name(code ? py_attribute(code.get(), g_name) : nullptr);
  if (!name || strcmp(py_text(name.get()), "wrapper")) return nullptr;
  PyOwned locals(py_attribute(frame, g_locals));
  PyOwned args(locals ? g_py.PyMapping_GetItemString(locals.get(), "args") : nullptr);
  PyObject* first = args ? g_py.PyTuple_GetItem(args.get(), 0) : nullptr;  // fails if it is no tuple
  if (!first || !is_optimizer(first)) return nullptr;
  g_py.Py_IncRef(first);
  return first;
}

PyObject* optimizer_on_stack() {
  constexpr int kFrames = 6;  // of record_function and torch.ops above the wrapper
  PyObject* frame = g_py.PyEval_GetFrame();
  if (!frame) return nullptr;
  g_py.Py_IncRef(frame);
  for (int i = 0; frame && i < kFrames; i++) {
    PyOwned here(frame);
    if (PyObject* optimizer = stepped_by(frame)) return optimizer;
    g_py.PyErr_Clear();
    frame = py_attribute(frame, g_back);
  }
  if (frame) g_py.Py_DecRef(frame);
  return nullptr;
}

// Borrowed; nullptr if `list` is none, or empty.
PyObject* end_of(PyObject* list, bool last) {
  return list ? g_py.PyList_GetItem(list, last ? g_py.PyList_Size(list) - 1 : 0) : nullptr;
}

// The first parameter of the first group, or the last one of the last, borrowed.
PyObject* parameter(PyObject* groups, bool last) {
  PyObject* group = end_of(groups, last);
  return end_of(group ? g_py.PyDict_GetItemString(group, "params") : nullptr, last);
}

// This thread runs Python code, and has given up the GIL.
bool may_take_gil() {
  return g_base && g_py.PyGILState_Ensure && g_py.PyGILState_GetThisThreadState && g_py.PyGILState_GetThisThreadState();
}

// From the addresses of the first and the last parameter: optimizers may be made anew for each step.
u64 parameters_of(PyObject* optimizer) {
  PyOwned attributes(g_py.PyObject_GenericGetAttr(optimizer, g_dict.get()));
  PyObject* groups = attributes ? g_py.PyDict_GetItemString(attributes.get(), "param_groups") : nullptr;
  PyObject *first = parameter(groups, false), *last = parameter(groups, true);
  if (!first || !last) return 0;
  constexpr u64 kSpread = 0x9e3779b97f4a7c15ull;
  return ((reinterpret_cast<uintptr_t>(first) * kSpread) ^ reinterpret_cast<uintptr_t>(last)) | 1;
}

}  // namespace

void optimizers_prepare(PyObject* base) {
  g_py.Py_IncRef(base);
  g_base = base;
}

bool optimizers_made() { return !g_base || any_marked(g_base, 0); }

bool optimizers_made_by_now() {
  if (!may_take_gil()) return true;
  int held = g_py.PyGILState_Ensure();
  bool made = true;
  {
    KeepException pending;
    made = optimizers_made();
  }
  g_py.PyGILState_Release(held);
  return made;
}

u64 running_optimizer() {
  if (!may_take_gil() || !g_py.PyEval_GetFrame || !g_py.PyType_IsSubtype) return 0;
  int held = g_py.PyGILState_Ensure();
  u64 known = 0;
  {
    KeepException pending;
    PyOwned optimizer(optimizer_on_stack());
    if (optimizer) known = parameters_of(optimizer.get());
    g_py.PyErr_Clear();
  }
  g_py.PyGILState_Release(held);
  return known;
}

}  // namespace tprof
