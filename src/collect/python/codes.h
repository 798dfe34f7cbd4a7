// Python code objects: each gets an id and a CodeRecord when it is first asked for. One reference is kept for ever, so an
// address stays that of its code. Needs the GIL, and the calling thread between enter() and leave().
#pragma once
#include <atomic>

#include "collect/python/api.h"
#include "collect/recorder.h"

namespace tprof {

struct KnownCode {
  PyObject* code;
  u32 id;
  u32 generation;  // of the recording that holds its CodeRecord
};
constexpr u32 kCodeBits = 16;
extern KnownCode* g_codes;  // 1 << kCodeBits of them, nullptr before the first

// Where a code stands if no other took its place.
inline u32 code_place(PyObject* code) {
  return u32(reinterpret_cast<uintptr_t>(code) * 0x9e3779b97f4a7c15ull >> (64 - kCodeBits));
}

u32 code_id_slowly(PyObject* code);

// 0: there was no room for it.
inline u32 code_id(PyObject* code) {
  if (__builtin_expect(g_codes != nullptr, 1)) {
    const KnownCode& known = g_codes[code_place(code)];
    if (__builtin_expect(known.code == code && known.generation == g_generation.load(std::memory_order_relaxed), 1))
      return known.id;
  }
  return code_id_slowly(code);
}

}  // namespace tprof
