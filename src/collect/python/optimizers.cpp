#include "collect/python/optimizers.h"

#include "collect/python/function_hook.h"

namespace tprof {
namespace {

PyWord g_dict{"__dict__"};

constexpr u32 kDeepest = 32;

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

}  // namespace

bool optimizers_made(PyObject* base) { return !base || any_marked(base, 0); }

}  // namespace tprof
