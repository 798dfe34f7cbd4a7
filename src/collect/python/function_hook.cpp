#include "collect/python/function_hook.h"

#include <dlfcn.h>
#include <string.h>

namespace tprof {

PyHook* g_call_function;

namespace {

constexpr u32 kMaxHooks = 16;
struct Hooked {
  PyObject* function;  // a reference of ours
  PyHook* hook;
  PyHook** slot;  // where there is no setter
  bool paused, stays;
};
Hooked g_hooked[kMaxHooks];
u32 g_hooked_count;
Hooks g_on = Hooks::on;

bool has_setter() { return g_py.PyFunction_SetVectorcall && g_py.PyVectorcall_Function; }

// For Pythons without a setter: the pointer in a function. nullptr: it does not hold the usual C function.
PyHook** slot_of(PyObject* function) {
  constexpr i32 kTypeVectorcallOffset = 56;  // PyTypeObject::tp_vectorcall_offset
  constexpr PySize kSmallest = 16, kLargest = 256;
  static void* call = dlsym(RTLD_DEFAULT, "_PyFunction_Vectorcall");
  PySize offset;
  memcpy(&offset, reinterpret_cast<char*>(py_type(function)) + kTypeVectorcallOffset, sizeof offset);
  if (!call || offset < kSmallest || offset > kLargest || offset % 8) return nullptr;
  auto** slot = reinterpret_cast<PyHook**>(reinterpret_cast<char*>(function) + offset);
  return *slot == reinterpret_cast<PyHook*>(call) ? slot : nullptr;
}

// The C function that runs a function now; nullptr: unknown.
PyHook* call_of(PyObject* function) {
  if (has_setter()) return reinterpret_cast<PyHook*>(g_py.PyVectorcall_Function(function));
  PyHook** slot = slot_of(function);
  return slot ? *slot : nullptr;
}

void set(Hooked& hooked) {
  bool on = g_on == Hooks::on || (g_on == Hooks::rest && hooked.stays);
  PyHook* call = on && !hooked.paused ? hooked.hook : g_call_function;
  if (has_setter())
    g_py.PyFunction_SetVectorcall(hooked.function, reinterpret_cast<void*>(call));
  else
    *hooked.slot = call;
}

void pause(PyObject* function, bool paused) {
  for (u32 i = 0; i < g_hooked_count; i++) {
    if (g_hooked[i].function != function) continue;
    g_hooked[i].paused = paused;
    return set(g_hooked[i]);
  }
}

}  // namespace

bool is_python_function(PyObject* object) {
  static const void* type = dlsym(RTLD_DEFAULT, "PyFunction_Type");
  PyOwned of_object(g_py.PyObject_Type(object));
  return type && of_object.get() == type;
}

bool hook_function(PyObject* function, PyObject* untouched, PyHook* hook, bool stays) {
  if (!is_python_function(function) || !is_python_function(untouched) || g_hooked_count == kMaxHooks) return false;
  PyHook* call = call_of(untouched);
  if (!call || call_of(function) != call) return false;
  g_call_function = call;
  g_py.Py_IncRef(function);
  PyHook** slot = has_setter() ? nullptr : slot_of(function);
  Hooked& hooked = g_hooked[g_hooked_count++] = {function, hook, slot, false, stays};
  set(hooked);
  return true;
}

void switch_hooks(Hooks hooks) {
  g_on = hooks;
  for (u32 i = 0; i < g_hooked_count; i++) set(g_hooked[i]);
}

void pause_hook(PyObject* function) { pause(function, true); }

void resume_hook(PyObject* function) { pause(function, false); }

}  // namespace tprof
