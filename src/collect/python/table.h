// A growing hash table: open addressing, memory from mmap, at most half full. Used under the GIL.
#pragma once
#include <sys/mman.h>

#include "base/types.h"

namespace tprof {

// Entry::key identifies an entry; 0: the slot is empty.
template <class Entry>
struct Table {
  Entry* entries = nullptr;
  u32 bits = 0, used = 0;

  Entry& slot(u64 key) {
    u32 mask = (1u << bits) - 1, at = u32(key * 0x9e3779b97f4a7c15ull >> (64 - bits));
    while (entries[at].key && entries[at].key != key) at = (at + 1) & mask;
    return entries[at];
  }
  // Makes room for one more entry. `keep(entry)`: false for an entry that may be forgotten.
  template <class Keep>
  bool make_room(Keep keep) {
    if (entries && used * 2 < 1u << bits) return true;
    Table larger;
    larger.bits = entries ? bits + 1 : 10;
    void* at = mmap(nullptr, sizeof(Entry) << larger.bits, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return false;
    larger.entries = static_cast<Entry*>(at);
    for (u32 i = 0; entries && i < 1u << bits; i++) {
      if (!entries[i].key || !keep(entries[i])) continue;
      larger.slot(entries[i].key) = entries[i];
      larger.used++;
    }
    if (entries) munmap(entries, sizeof(Entry) << bits);
    *this = larger;
    return true;
  }
  void clear() {
    if (entries) munmap(entries, sizeof(Entry) << bits);
    *this = Table{};
  }
};

}  // namespace tprof
