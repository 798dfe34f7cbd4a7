#include "collect/interpreter/inittab.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <atomic>

namespace tprof {
namespace {

struct Builtin {  // _inittab of CPython's import.h
  const char* name;
  void* (*init)();
};

// A module that every interpreter initialises for its import system, right after its memory and types.
constexpr const char* kEarly = "_weakref";

void* (*g_init)();
void (*g_then)();
std::atomic<bool> g_called{false};
bool g_is_python;

void* init() {
  if (!g_called.exchange(true)) g_then();
  return g_init();
}

}  // namespace

// Embedding programs may replace the table of built-in modules (PyImport_Inittab, PyImport_ExtendInittab). Ours is a
// copy with one changed entry.
bool python_when_set_up(void (*then)()) {
  auto table = static_cast<Builtin**>(dlsym(RTLD_DEFAULT, "PyImport_Inittab"));
  if (!table || !*table) return false;
  size_t count = 0, early = SIZE_MAX;
  for (; (*table)[count].name; count++)
    if (!strcmp((*table)[count].name, kEarly)) early = count;
  if (early == SIZE_MAX || !(*table)[early].init) return false;
  size_t bytes = (count + 1) * sizeof(Builtin);
  void* copy = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) return false;
  memcpy(copy, *table, bytes);
  g_then = then;
  g_init = (*table)[early].init;
  static_cast<Builtin*>(copy)[early].init = init;
  *table = static_cast<Builtin*>(copy);
  g_is_python = true;
  return true;
}

bool python_process() { return g_is_python; }

}  // namespace tprof
