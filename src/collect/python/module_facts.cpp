#include "collect/python/module_facts.h"

#include "collect/python/parameter_walk.h"
#include "collect/python/table.h"
#include "record/writer.h"

namespace tprof {
namespace {

PyWord g_dict{"__dict__"}, g_training{"training"};

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

bool keep_all(const auto&) { return true; }

void look(PyObject* module, Known& known) {
  ParameterWalk walk(module);
  PyObject* parameter = walk.next();
  known.parameter = reinterpret_cast<uintptr_t>(parameter);
  known.trains = false;
  known.trained = g_trained.used;
  for (; parameter && !known.trains; parameter = walk.next())
    known.trains = g_trained.entries && g_trained.slot(reinterpret_cast<uintptr_t>(parameter)).key;
}

void add(PyObject* module, Known& known) {
  ParameterWalk walk(module);
  PyObject* parameter = walk.next();
  known.added = true;
  known.parameter = reinterpret_cast<uintptr_t>(parameter);
  known.trains |= parameter != nullptr;
  for (; parameter; parameter = walk.next()) {
    if (g_trained.used >= kMaxParameters || !g_trained.make_room(keep_all<Trained>)) return;
    Trained& entry = g_trained.slot(reinterpret_cast<uintptr_t>(parameter));
    g_trained.used += !entry.key;
    entry.key = reinterpret_cast<uintptr_t>(parameter);
  }
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
