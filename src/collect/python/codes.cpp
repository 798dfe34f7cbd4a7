#include "collect/python/codes.h"

#include <stdlib.h>
#include <sys/mman.h>

namespace tprof {

constinit KnownCode* g_codes;

namespace {

constexpr u32 kPlaces = 1 << kCodeBits;
u32 g_next_id = 1;
u16 g_version;

PyWord g_qualified{"co_qualname"}, g_name{"co_name"}, g_file{"co_filename"}, g_line{"co_firstlineno"};

u16 python_version() {
  char* rest = nullptr;
  unsigned long major = strtoul(g_py.Py_GetVersion(), &rest, 10);
  unsigned long minor = *rest == '.' ? strtoul(rest + 1, nullptr, 10) : 0;
  return u16(major << 8 | minor);
}

u32 intern_attribute(PyObject* object, PyWord& name) {
  PyOwned text(py_attribute(object, name));
  const char* bytes = py_text(text.get());
  return *bytes ? intern_bytes(bytes, length_of(bytes, kLongestName)) : 0;
}

void write(KnownCode& known) {
  if (!g_version) g_version = python_version();
  CodeRecord record{};
  record.name = intern_attribute(known.code, g_qualified);
  if (!record.name) record.name = intern_attribute(known.code, g_name);
  record.file = intern_attribute(known.code, g_file);
  if (PyOwned line{py_attribute(known.code, g_line)}) record.first_line = i32(g_py.PyLong_AsLong(line.get()));
  record.python = g_version;
  known.generation = g_generation.load(std::memory_order_relaxed);
  g_writer.add_code(known.id, record);
}

}  // namespace

u32 code_id_slowly(PyObject* code) {
  if (!g_codes) {
    void* at = mmap(nullptr, kPlaces * sizeof(KnownCode), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return 0;
    g_codes = static_cast<KnownCode*>(at);
  }
  constexpr u32 kTries = 256;
  for (u32 i = 0; i < kTries; i++) {
    KnownCode& known = g_codes[(code_place(code) + i) % kPlaces];
    if (known.code && known.code != code) continue;
    if (!known.code) {
      g_py.Py_IncRef(code);
      known.code = code;
      known.id = g_next_id++;
      known.generation = g_generation.load(std::memory_order_relaxed) - 1;
    }
    if (known.generation != g_generation.load(std::memory_order_relaxed)) write(known);
    return known.id;
  }
  return 0;
}

}  // namespace tprof
