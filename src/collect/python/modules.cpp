#include "collect/python/modules.h"

#include <string.h>
#include <sys/mman.h>

#include "collect/python/table.h"
#include "collect/recorder.h"

namespace tprof {
namespace {

struct KnownModule {
  u64 key;         // its address
  PyObject* weak;  // nullptr: it cannot have one
  u32 id;
};
struct KnownClass {
  u64 key;    // of its name: classes of one name are numbered together, names of modules stay unique
  u32 count;  // modules of it so far
};
Table<KnownModule> g_modules;
Table<KnownClass> g_classes;
u32 g_next_id = 1;
u32 g_generation_known = 0;  // the recording that has their records

PyObject *g_parameter_type, *g_count_modes;
PyWord g_name{"__name__"}, g_dict{"__dict__"};

bool alive(const KnownModule& module) {
  if (!module.weak) return true;
  if (!g_py.PyWeakref_GetRef) return g_py.PyWeakref_GetObject && g_py.PyWeakref_GetObject(module.weak) != g_py.none;
  PyObject* object = nullptr;
  if (g_py.PyWeakref_GetRef(module.weak, &object) < 0) g_py.PyErr_Clear();
  if (object) g_py.Py_DecRef(object);  // the caller of the module holds another
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

// --- parameters. Only plain dictionaries and tensor methods written in C are touched: nothing here runs Python code.

constexpr u32 kMostParameters = 16 << 10;

struct Parameters {
  const void** seen;  // those met so far: shared ones count once
  u32 bits;
  u32 met = 0;
  u64 elements = 0, bytes = 0;

  bool add(PyObject* parameter);
  bool add_module(PyObject* module, u32 depth);
  bool is_new(const void* parameter) {
    u32 mask = (1u << bits) - 1, at = u32(reinterpret_cast<uintptr_t>(parameter) * 0x9e3779b97f4a7c15ull >> (64 - bits));
    while (seen[at] && seen[at] != parameter) at = (at + 1) & mask;
    bool added = !seen[at];
    seen[at] = parameter;
    return added;
  }
};

// -1: unknown.
long number_of(PyObject* object, const char* method) {
  PyOwned value(g_py.PyObject_CallMethod(object, method, nullptr));
  long number = value ? g_py.PyLong_AsLong(value.get()) : -1;
  if (number < 0) g_py.PyErr_Clear();
  return number;
}

// A parameter of another class (uninitialised, distributed, fake) may do anything when it is asked.
bool Parameters::add(PyObject* parameter) {
  if (py_type(parameter) != g_parameter_type || ++met > kMostParameters) return false;
  if (!is_new(parameter)) return true;
  long count = number_of(parameter, "numel"), size = number_of(parameter, "element_size");
  if (count < 0 || size < 0) return false;
  elements += u64(count);
  bytes += u64(count) * u64(size);
  return true;
}

bool Parameters::add_module(PyObject* module, u32 depth) {
  constexpr u32 kDeepest = 64;
  if (depth > kDeepest) return false;
  PyOwned attributes(g_py.PyObject_GenericGetAttr(module, g_dict.get()));
  if (!attributes) return g_py.PyErr_Clear(), false;
  PySize at = 0;
  PyObject *name, *value;
  PyObject* own = g_py.PyDict_GetItemString(attributes.get(), "_parameters");
  while (own && g_py.PyDict_Next(own, &at, &name, &value))
    if (value != g_py.none && !add(value)) return false;
  PyObject* children = g_py.PyDict_GetItemString(attributes.get(), "_modules");
  at = 0;
  while (children && g_py.PyDict_Next(children, &at, &name, &value))
    if (value != g_py.none && !add_module(value, depth + 1)) return false;
  return own != nullptr;
}

// A mode would be told of the calls, and may be written in Python.
bool modes_wait() {
  if (!g_count_modes) return false;
  PyOwned count(g_py.PyObject_CallFunction(g_count_modes, nullptr));
  bool none = count && g_py.PyLong_AsLong(count.get()) == 0;
  g_py.PyErr_Clear();
  return !none;
}

void count_parameters(PyObject* module, ModuleRecord& record) {
  record.parameters = ModuleRecord::kUnknown;
  if (!g_parameter_type || modes_wait()) return;
  constexpr u32 kBits = 15;
  static_assert(kMostParameters * 2 <= 1u << kBits);
  void* seen = mmap(nullptr, sizeof(void*) << kBits, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (seen == MAP_FAILED) return;
  Parameters parameters{static_cast<const void**>(seen), kBits};
  if (parameters.add_module(module, 0)) {
    record.parameters = parameters.elements;
    record.parameter_bytes = parameters.bytes;
  }
  munmap(seen, sizeof(void*) << kBits);
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
  KnownClass& known = g_classes.place(key_of(text));
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

void modules_prepare(PyObject* parameter_type, PyObject* count_modes) {
  auto keep_object = [](PyObject* object) -> PyObject* {
    if (object == g_py.none) return nullptr;
    g_py.Py_IncRef(object);
    return object;
  };
  g_parameter_type = keep_object(parameter_type);
  g_count_modes = keep_object(count_modes);
}

u32 module_id(PyObject* module) {
  u32 generation = g_generation.load(std::memory_order_relaxed);
  if (g_generation_known != generation) {
    forget_all();
    g_generation_known = generation;
  }
  auto key = reinterpret_cast<uintptr_t>(module);
  if (g_modules.entries) {
    KnownModule& known = g_modules.place(key);
    if (known.key && alive(known)) return known.id;
  }
  if (!g_modules.make_room(keep) || !g_classes.make_room([](KnownClass&) { return true; })) return 0;
  KnownModule& known = g_modules.place(key);
  if (known.key)
    g_py.Py_DecRef(known.weak);
  else
    g_modules.used++;
  PyObject* weak = g_py.PyWeakref_NewRef(module, nullptr);
  if (!weak) g_py.PyErr_Clear();
  known = {key, weak, write(module)};
  return known.id;
}

}  // namespace tprof
