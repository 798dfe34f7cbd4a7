#include "collect/python/module_facts.h"

#include "collect/python/table.h"
#include "record/writer.h"

namespace tprof {
namespace {

PyWord g_dict{"__dict__"}, g_training{"training"}, g_parameters{"_parameters"}, g_modules{"_modules"};

constexpr u32 kDeepest = 64;
constexpr u32 kMaxParameters = 256 << 10;
constexpr u32 kMaxModules = 64 << 10;  // when there are more, all are forgotten and found again

// The parameters that train, by address.
struct Trained {
  u64 key;
};
Table<Trained> g_trained;

// What is known of a module, by address alone: another module at the same address is most likely of the same kind.
struct Known {
  u64 key;
  u32 trained;    // parameters that trained by then
  u64 parameter;  // the first one
  bool trains, added;
};
Table<Known> g_known;

template <class Visit>  // `visit` returns false to stop
bool for_each_parameter(PyObject* module, u32 depth, Visit visit) {
  if (depth > kDeepest) return true;
  PyOwned attributes(g_py.PyObject_GenericGetAttr(module, g_dict.get()));
  if (!attributes) return g_py.PyErr_Clear(), true;
  PySize at = 0;
  PyObject *name, *value;
  PyObject* own = g_py.PyDict_GetItem(attributes.get(), g_parameters.get());
  while (own && g_py.PyDict_Next(own, &at, &name, &value))
    if (value != g_py.none && !visit(reinterpret_cast<uintptr_t>(value))) return false;
  PyObject* children = g_py.PyDict_GetItem(attributes.get(), g_modules.get());
  at = 0;
  while (children && g_py.PyDict_Next(children, &at, &name, &value))
    if (value != g_py.none && !for_each_parameter(value, depth + 1, visit)) return false;
  return true;
}

bool keep_all(const auto&) { return true; }

void look(PyObject* module, Known& known) {
  known.parameter = 0;
  known.trains = false;
  known.trained = g_trained.used;
  for_each_parameter(module, 0, [&](u64 parameter) {
    if (!known.parameter) known.parameter = parameter;
    known.trains = g_trained.entries && g_trained.slot(parameter).key;
    return !known.trains;
  });
}

void add(PyObject* module, Known& known) {
  known.added = true;
  known.parameter = 0;
  for_each_parameter(module, 0, [&](u64 parameter) {
    if (!known.parameter) known.parameter = parameter;
    known.trains = true;
    if (g_trained.used >= kMaxParameters || !g_trained.make_room(keep_all<Trained>)) return false;
    Trained& entry = g_trained.slot(parameter);
    g_trained.used += !entry.key;
    entry.key = parameter;
    return true;
  });
}

// Guards the tables where Python is free-threaded; elsewhere the GIL does.
SpinLock g_lock;

void look_up(PyObject* module, bool gradients, ModuleFacts& facts) {
  if (g_known.used >= kMaxModules) g_known.clear();
  if (!g_known.make_room(keep_all<Known>)) return;
  auto key = reinterpret_cast<uintptr_t>(module);
  Known& known = g_known.slot(key);
  bool is_new = !known.key;
  g_known.used += is_new;
  known.key = key;
  if (gradients && facts.training && !known.added)
    add(module, known);
  else if (is_new || (!known.trains && known.trained != g_trained.used))
    look(module, known);
  facts.parameter = reinterpret_cast<const void*>(known.parameter);
  facts.trains = known.trains;
}

}  // namespace

ModuleFacts module_facts(PyObject* module, bool gradients) {
  ModuleFacts facts{true, nullptr, false};
  PyOwned attributes(g_py.PyObject_GenericGetAttr(module, g_dict.get()));
  if (!attributes) return g_py.PyErr_Clear(), facts;
  PyObject* training = g_py.PyDict_GetItem(attributes.get(), g_training.get());
  facts.training = training != g_py.no;
  if (!g_lock.try_lock()) return facts;
  look_up(module, gradients, facts);
  g_lock.unlock();
  return facts;
}

void module_facts_in_child() { g_lock.reset(); }

}  // namespace tprof
