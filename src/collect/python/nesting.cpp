#include "collect/python/nesting.h"

#include "collect/recorder/thread.h"
#include "collect/session/session.h"

namespace tprof {
namespace {

PyWord g_module{"greenlet._greenlet"}, g_getcurrent{"getcurrent"};

__thread Nesting t_nesting __attribute__((tls_model("initial-exec")));

std::atomic<bool> g_greenlets{false};
PyObject* g_current;  // greenlet.getcurrent, which is written in C; nullptr: not there yet

// All greenlets that are in a call, of all threads. A slot with no depth is free.
struct OfGreenlet {
  const void* greenlet;
  Nesting nesting;
};
constexpr u32 kMostGreenlets = 1024;
OfGreenlet g_slots[kMostGreenlets];

const void* current_greenlet() {
  if (!g_current) {
    PyObject* module = g_py.PyDict_GetItem(g_py.PyImport_GetModuleDict(), g_module.get());
    if (!module || !(g_current = py_attribute(module, g_getcurrent))) return nullptr;
  }
  PyOwned current(g_py.PyObject_CallFunction(g_current, nullptr));
  if (!current) g_py.PyErr_Clear();
  return current.get();
}

bool is_free(const OfGreenlet& slot) { return slot.nesting.modules == 0 && slot.nesting.fetching == 0; }

Nesting& nesting_of(const void* greenlet) {
  OfGreenlet* found = nullptr;
  for (OfGreenlet& slot : g_slots) {
    if (slot.greenlet == greenlet && !is_free(slot)) return slot.nesting;
    if (!found && is_free(slot)) found = &slot;
    if (!slot.greenlet) break;  // none was ever used beyond
  }
  if (!found) {
    g_session.capability("steps", false, "more than 1024 greenlets were inside modules at the same time");
    return t_nesting = {};
  }
  *found = {greenlet, {}};
  return found->nesting;
}

}  // namespace

Nesting& nesting_now() {
  if (__builtin_expect(!g_greenlets.load(std::memory_order_relaxed), 1)) return t_nesting;
  const void* greenlet = current_greenlet();
  return greenlet ? nesting_of(greenlet) : t_nesting;
}

void greenlets_come() { g_greenlets.store(true, std::memory_order_relaxed); }
bool has_greenlets() { return g_greenlets.load(std::memory_order_relaxed); }

void nesting_in_child() {
  t_nesting = {};
  for (OfGreenlet& slot : g_slots) slot = {};
}

}  // namespace tprof
