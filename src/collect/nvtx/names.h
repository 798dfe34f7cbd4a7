// The texts that NVTX programs hand over once and refer to later: registered strings, domains, categories. Kept for the
// process's life, so that a handle stays good whatever the program destroys, and a recording that begins later has them.
#pragma once
#include <wchar.h>

#include <atomic>

#include "base/types.h"

namespace tprof::nvtx {

// One text; equal texts are one.
struct Text {
  Text* next;
  mutable std::atomic<u64> known;  // generation of the recording << 32 | name id there
  u32 hash;
  u32 bytes;
  const char* text() const { return reinterpret_cast<const char*>(this + 1); }  // NUL-terminated
};

constexpr size_t kLongestText = 4095;  // bytes; what is longer is cut

// nullptr only when memory has run out.
const Text* keep(const char* text);
const Text* keep_wide(const wchar_t* text);
// Name id in the current recording.
u32 id_of(const Text* text);

// Domains are told apart by their names, so all modules that create one mean the same. 0 is the default domain. Those
// beyond kMaxDomains share the last one.
constexpr u32 kMaxDomains = 128;
struct Domain {
  const Text* name;
};
Domain* create_domain(const Text* name);
// Of a handle; 0 also for a handle that is none.
u32 index_of(const Domain* domain);
// Name id of a domain, 0 for the default one.
u32 domain_id(u32 index);

void set_category(u32 domain, u32 category, const Text* name);
// As NvtxRecord::category has it.
u32 category_id(u32 domain, u32 category);

// In a forked child: nobody holds our lock.
void reset_names_in_child();

}  // namespace tprof::nvtx
