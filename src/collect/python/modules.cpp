#include "collect/python/modules.h"

#include <string.h>

#include "collect/python/parameters.h"
#include "collect/python/table.h"
#include "collect/recorder/recorder.h"

namespace tprof {
namespace {

struct KnownModule {
  u64 key;         // its address
  PyObject* weak;  // nullptr: the module does not support one
  u32 id;
};
struct KnownClass {
  u64 key;    // hash of its name: classes of the same name share the numbers, so names of modules are unique
  u32 count;  // modules of it so far
};
Table<KnownModule> g_modules;
Table<KnownClass> g_classes;
u32 g_next_id = 1;
u32 g_generation_known = 0;  // the recording that has their records

PyWord g_name{"__name__"};

bool alive(const KnownModule& module) {
  if (!module.weak) return true;
  if (!g_py.PyWeakref_GetRef) return g_py.PyWeakref_GetObject && g_py.PyWeakref_GetObject(module.weak) != g_py.none;
  PyObject* object = nullptr;
  if (g_py.PyWeakref_GetRef(module.weak, &object) < 0) g_py.PyErr_Clear();
  if (object) g_py.Py_DecRef(object);  // the module's caller holds another one
  return object != nullptr;
}

bool keep(KnownModule& module) {
  if (alive(module)) return true;
  g_py.Py_DecRef(module.weak);
  return false;
}

u64 key_of(const char* text) {
  u64 hash = 14695981039346656037u;
  for (; *text; text++) hash = (hash ^ u8(*text)) * 1099511628211u;
  return hash | 1;
}

// --- records

void forget_all() {
  for (u32 i = 0; g_modules.entries && i < 1u << g_modules.bits; i++)
    if (PyObject* weak = g_modules.entries[i].weak) g_py.Py_DecRef(weak);
  g_modules.clear();
  g_classes.clear();
  g_next_id = 1;
}

u32 write(PyObject* module) {
  PyOwned name(py_attribute(py_type(module), g_name));
  const char* text = py_text(name.get());
  KnownClass& known = g_classes.slot(key_of(text));
  if (!known.key) {
    known = {key_of(text), 0};
    g_classes.used++;
  }
  ModuleRecord record{};
  record.class_name = intern_bytes(text, length_of(text, kLongestName));
  record.number = known.count++;
  count_parameters(module, record);
  g_writer.add_module(g_next_id, record);
  return g_next_id++;
}

}  // namespace

u32 module_id(PyObject* module) {
  u32 generation = g_generation.load(std::memory_order_relaxed);
  if (g_generation_known != generation) {
    forget_all();
    g_generation_known = generation;
  }
  auto key = reinterpret_cast<uintptr_t>(module);
  if (g_modules.entries) {
    KnownModule& known = g_modules.slot(key);
    if (known.key && alive(known)) return known.id;
  }
  // This may collect garbage, and with it let other threads run, which come here, too: the tables are used after it.
  PyObject* weak = g_py.PyWeakref_NewRef(module, nullptr);
  if (!weak) g_py.PyErr_Clear();
  u32 id = g_classes.make_room([](KnownClass&) { return true; }) ? write(module) : 0;
  if (!id || !g_modules.make_room(keep)) {
    if (weak) g_py.Py_DecRef(weak);
    return id;
  }
  KnownModule& known = g_modules.slot(key);
  PyObject* before = known.key ? known.weak : nullptr;
  g_modules.used += !known.key;
  known = {key, weak, id};
  if (before) g_py.Py_DecRef(before);
  return id;
}

}  // namespace tprof
