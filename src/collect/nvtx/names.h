// The texts that NVTX programs hand over once and refer to later: registered strings, domains, categories. They are
// kept until the process ends, so that a handle stays valid whatever the program destroys, and later recordings have
// them.
#pragma once
#include <wchar.h>

#include <atomic>

#include "base/types.h"

namespace tprof::nvtx {

// A kept text. Equal texts share one.
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

// Domains are identified by name: modules that create a domain of the same name share it. 0 is the default domain.
// Domains beyond kMaxDomains share the last one.
constexpr u32 kMaxDomains = 128;
struct Domain {
  const Text* name;
};
Domain* create_domain(const Text* name);
// The index of a domain; 0 also for an invalid handle.
u32 index_of(const Domain* domain);
// The name id of a domain, 0 for the default one.
u32 domain_id(u32 index);

void set_category(u32 domain, u32 category, const Text* name);
// As in NvtxRecord::category.
u32 category_id(u32 domain, u32 category);

// In a forked child, where nobody holds the lock.
void reset_names_in_child();

}  // namespace tprof::nvtx
