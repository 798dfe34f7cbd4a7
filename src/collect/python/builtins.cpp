#include "collect/python/builtins.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

#include "collect/recorder/recorder.h"

namespace tprof {
namespace {

PyObject *g_function_type, *g_method_type, *g_descriptor_type, *g_module_type;

// A PyCFunctionObject, in every Python with a GIL so far; proven with one of ours.
struct Function {
  PySize references;
  PyObject* type;
  const char* const* definition;  // PyMethodDef; its first member is the name
  PyObject* self;                 // nullptr, a module, or the object that it is a method of
};
const Function* as_function(PyObject* callable) { return reinterpret_cast<const Function*>(callable); }

// One per function and type of its object. We hold a reference to the type, which also keeps its methods alive. `name`
// detects that another function was made at the same address.
struct Known {
  const void* function;  // definition, or the descriptor of a method that is not bound
  PyObject* type;
  const char* name;
  u32 id;
  u32 generation;
};
constexpr u32 kBits = 14, kKnownSlots = 1 << kBits;
Known* g_known;

// The name that Python prints for it, without the address: "... at 0x7f...>".
u32 intern_repr(PyObject* callable) {
  PyOwned repr(g_py.PyObject_Repr(callable));
  if (!repr) g_py.PyErr_Clear();
  char text[512];
  size_t bytes = length_of(py_text(repr.get()), sizeof text - 1);
  memcpy(text, py_text(repr.get()), bytes);
  text[bytes] = 0;
  constexpr char kAt[] = " at 0x";
  if (char* at = strstr(text, kAt)) {
    const char* rest = at + sizeof kAt - 1;
    rest += strspn(rest, "0123456789abcdefABCDEF");
    memmove(at, rest, strlen(rest) + 1);
  }
  return *text ? intern_bytes(text, strlen(text)) : 0;
}

u32 intern_name(PyObject* callable, PyObject* first) {
  if (py_type(callable) != g_descriptor_type) return intern_repr(callable);
  PyOwned bound(g_py.PyObject_CallMethod(callable, "__get__", "OO", first, py_type(first)));
  if (!bound) g_py.PyErr_Clear();
  return intern_repr(bound ? bound.get() : callable);
}

}  // namespace

bool builtins_prepare(PyObject* ours, const void* definition) {
  auto type = [](const char* name) { return static_cast<PyObject*>(dlsym(RTLD_DEFAULT, name)); };
  g_function_type = type("PyCFunction_Type");
  g_method_type = type("PyCMethod_Type");  // 3.9
  g_descriptor_type = type("PyMethodDescr_Type");
  g_module_type = type("PyModule_Type");
  PyOwned its_type(g_py.PyObject_Type(ours));
  return g_function_type && g_descriptor_type && g_module_type && its_type.get() == g_function_type &&
         py_type(ours) == g_function_type && as_function(ours)->definition == definition && !as_function(ours)->self;
}

bool is_builtin(PyObject* callable) {
  PyObject* type = py_type(callable);
  return type == g_function_type || type == g_descriptor_type || type == g_method_type;
}

u32 builtin_id(PyObject* callable, PyObject* first) {
  if (!g_known) {
    void* at = mmap(nullptr, kKnownSlots * sizeof(Known), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return 0;
    g_known = static_cast<Known*>(at);
  }
  const void* function = callable;
  PyObject* type = nullptr;
  const char* name = nullptr;
  if (py_type(callable) == g_descriptor_type) {
    type = py_type(first);
  } else {
    const Function* f = as_function(callable);
    function = f->definition;
    name = *f->definition;
    if (f->self && py_type(f->self) != g_module_type) type = py_type(f->self);
  }
  u64 spread = (reinterpret_cast<uintptr_t>(function) ^ reinterpret_cast<uintptr_t>(type) << 7) * 0x9e3779b97f4a7c15ull;
  u32 generation = g_generation.load(std::memory_order_relaxed);
  constexpr u32 kTries = 64;
  for (u32 i = 0; i < kTries; i++) {
    Known& known = g_known[((spread >> (64 - kBits)) + i) % kKnownSlots];
    if (known.function && (known.function != function || known.type != type)) continue;
    if (known.function && known.name == name && known.generation == generation) return known.id;
    if (!known.function) {
      if (type) g_py.Py_IncRef(type);
      if (function == callable) g_py.Py_IncRef(callable);
    }
    known = {function, type, name, intern_name(callable, first), generation};
    return known.id;
  }
  return intern_name(callable, first);
}

}  // namespace tprof
