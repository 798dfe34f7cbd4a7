// Which code is tprof's own: no stack shows it.
#pragma once
#include "base/types.h"
#include "record/record.h"

extern "C" {
// Set by the linker: from where to where this library is mapped.
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));
}

namespace tprof {

// Whether `pc` is in this library: a wrapper, or the one around main.
inline bool is_ours(u64 pc) { return pc - reinterpret_cast<u64>(__ehdr_start) < u64(_end - __ehdr_start); }

// Bits that no program counter has: a StackRecord needs them for something else.
constexpr u64 kNoAddress = kMaxMaps << kMapShift;

}  // namespace tprof
