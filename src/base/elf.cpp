#include "base/elf.h"

#include <string.h>

namespace tprof {

ElfObject ElfObject::mapped(const char* prefix) {
  ElfObject object;
  object.prefix_ = prefix;
  dl_iterate_phdr(visit, &object);
  return object;
}

int ElfObject::visit(dl_phdr_info* info, size_t, void* arg) {
  auto& self = *static_cast<ElfObject*>(arg);
  if (!info->dlpi_name) return 0;
  const char* slash = strrchr(info->dlpi_name, '/');
  const char* file = slash ? slash + 1 : info->dlpi_name;
  if (strncmp(file, self.prefix_, strlen(self.prefix_)) != 0) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const auto& segment = info->dlpi_phdr[i];
    ElfW(Addr) at = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD) {
      if (at < self.low_) self.low_ = at;
      if (at + segment.p_memsz > self.high_) self.high_ = at + segment.p_memsz;
    }
    if (segment.p_type != PT_DYNAMIC) continue;
    self.base_ = info->dlpi_addr;
    self.dyn_ = reinterpret_cast<const ElfW(Dyn)*>(at);
  }
  if (!self.dyn_) return 0;
  strncpy(self.path_, info->dlpi_name, sizeof self.path_ - 1);
  for (const auto* d = self.dyn_; d->d_tag != DT_NULL; d++) {
    ElfW(Addr) p = d->d_un.d_ptr;
    if (p < self.base_) p += self.base_;  // glibc relocates these entries, musl does not
    switch (d->d_tag) {
      case DT_SYMTAB: self.symbols_ = reinterpret_cast<const ElfW(Sym)*>(p); break;
      case DT_STRTAB: self.strings_ = reinterpret_cast<const char*>(p); break;
      case DT_GNU_HASH: self.gnu_hash_ = reinterpret_cast<const u32*>(p); break;
      case DT_HASH: self.sysv_hash_ = reinterpret_cast<const u32*>(p); break;
    }
  }
  return 1;
}

void* ElfObject::symbol(const char* name) const {
  if (!symbols_ || !strings_) return nullptr;
  return gnu_hash_ ? by_gnu_hash(name) : sysv_hash_ ? by_sysv_hash(name) : nullptr;
}

// DT_GNU_HASH: {buckets, first hashed symbol, bloom words, bloom shift}, bloom filter, buckets, chains. A chain
// ends at the entry whose lowest bit is set.
void* ElfObject::by_gnu_hash(const char* name) const {
  u32 hash = 5381;
  for (const char* c = name; *c; c++) hash = hash * 33 + static_cast<unsigned char>(*c);
  u32 buckets = gnu_hash_[0], first = gnu_hash_[1], bloom_words = gnu_hash_[2];
  const auto* bloom = reinterpret_cast<const ElfW(Addr)*>(gnu_hash_ + 4);
  const auto* bucket = reinterpret_cast<const u32*>(bloom + bloom_words);
  const u32* chain = bucket + buckets;
  u32 i = bucket[hash % buckets];
  if (i < first) return nullptr;
  for (;; i++) {
    u32 entry = chain[i - first];
    if ((entry | 1) == (hash | 1) && symbols_[i].st_shndx && !strcmp(strings_ + symbols_[i].st_name, name))
      return reinterpret_cast<void*>(base_ + symbols_[i].st_value);
    if (entry & 1) return nullptr;
  }
}

// DT_HASH (System V): {buckets, symbols}, buckets, chains ending in 0.
void* ElfObject::by_sysv_hash(const char* name) const {
  u32 hash = 0;
  for (const char* c = name; *c; c++) {
    hash = (hash << 4) + static_cast<unsigned char>(*c);
    u32 high = hash & 0xf0000000u;
    if (high) hash ^= high >> 24;
    hash &= ~high;
  }
  u32 buckets = sysv_hash_[0];
  const u32* bucket = sysv_hash_ + 2;
  const u32* chain = bucket + buckets;
  for (u32 i = bucket[hash % buckets]; i; i = chain[i])
    if (symbols_[i].st_shndx && !strcmp(strings_ + symbols_[i].st_name, name))
      return reinterpret_cast<void*>(base_ + symbols_[i].st_value);
  return nullptr;
}

}  // namespace tprof
