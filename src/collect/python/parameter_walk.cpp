#include "collect/python/parameter_walk.h"

namespace tprof {
namespace {

PyWord g_dict{"__dict__"}, g_parameters{"_parameters"}, g_modules{"_modules"};

// The next value that is not None of a dictionary.
PyObject* next_value(PyObject* dictionary, PySize& at) {
  PyObject *name, *value;
  while (g_py.PyDict_Next(dictionary, &at, &name, &value))
    if (value != g_py.none) return value;
  return nullptr;
}

}  // namespace

void ParameterWalk::enter(PyObject* module) {
  bool fits = depth_ < kDeepest && visited_.used < most_modules_ && visited_.make_room([](Visited&) { return true; });
  if (!fits) return void(incomplete_ = true);
  Visited& visited = visited_.slot(reinterpret_cast<uintptr_t>(module));
  if (visited.key) return;
  visited.key = reinterpret_cast<uintptr_t>(module);
  visited_.used++;
  PyOwned attributes(g_py.PyObject_GenericGetAttr(module, g_dict.get()));
  PyObject* parameters = attributes ? g_py.PyDict_GetItem(attributes.get(), g_parameters.get()) : nullptr;
  PyObject* children = attributes ? g_py.PyDict_GetItem(attributes.get(), g_modules.get()) : nullptr;
  g_py.PyErr_Clear();
  incomplete_ |= !parameters;
  levels_[depth_++] = {parameters, children, 0};
}

PyObject* ParameterWalk::next() {
  while (depth_) {
    Level& level = levels_[depth_ - 1];
    if (level.parameters) {
      if (PyObject* parameter = next_value(level.parameters, level.at)) return parameter;
      level.parameters = nullptr;
      level.at = 0;
    }
    PyObject* child = level.children ? next_value(level.children, level.at) : nullptr;
    if (child)
      enter(child);
    else
      depth_--;
  }
  return nullptr;
}

}  // namespace tprof
