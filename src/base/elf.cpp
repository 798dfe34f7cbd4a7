#include "base/elf.h"

#include <string.h>

#include "base/loaded.h"

namespace tprof {

ElfObject ElfObject::mapped(const char* prefix) {
  return first([=](const ElfObject& object) { return !strncmp(object.file(), prefix, strlen(prefix)); });
}

ElfObject ElfObject::search(bool (*wanted)(const ElfObject&, void*), void* arg) {
  struct Search {
    bool (*wanted)(const ElfObject&, void*);
    void* arg;
    ElfObject found;
  } search{wanted, arg, {}};
  walk_loaded(
      [](dl_phdr_info* info, size_t, void* at) {
        auto& s = *static_cast<Search*>(at);
        ElfObject object;
        if (!object.read(info) || !s.wanted(object, s.arg)) return 0;
        s.found = object;
        return 1;
      },
      &search);
  return search.found;
}

bool ElfObject::read(const dl_phdr_info* info) {
  if (!info->dlpi_name) return false;
  path_ = info->dlpi_name;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const auto& segment = info->dlpi_phdr[i];
    ElfW(Addr) at = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD) {
      if (at < low_) low_ = at;
      if (at + segment.p_memsz > high_) high_ = at + segment.p_memsz;
    }
    if (segment.p_type != PT_DYNAMIC) continue;
    base_ = info->dlpi_addr;
    dyn_ = reinterpret_cast<const ElfW(Dyn)*>(at);
  }
  if (!dyn_) return false;
  ElfW(Xword) soname = 0;
  for (const auto* d = dyn_; d->d_tag != DT_NULL; d++) {
    ElfW(Addr) p = d->d_un.d_ptr;
    if (p < base_) p += base_;  // glibc relocates these entries, musl does not
    switch (d->d_tag) {
      case DT_SYMTAB: symbols_ = reinterpret_cast<const ElfW(Sym)*>(p); break;
      case DT_STRTAB: strings_ = reinterpret_cast<const char*>(p); break;
      case DT_GNU_HASH: gnu_hash_ = reinterpret_cast<const u32*>(p); break;
      case DT_HASH: sysv_hash_ = reinterpret_cast<const u32*>(p); break;
      case DT_SONAME: soname = d->d_un.d_val; break;
    }
  }
  if (soname && strings_) soname_ = strings_ + soname;
  return true;
}

const char* ElfObject::file() const {
  const char* slash = strrchr(path_, '/');
  return slash ? slash + 1 : path_;
}

bool ElfObject::is_called(const char* name) const {
  return (soname_ && !strcmp(soname_, name)) || !strcmp(file(), name);
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
  if (!buckets) return nullptr;
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
  if (!buckets) return nullptr;
  const u32* bucket = sysv_hash_ + 2;
  const u32* chain = bucket + buckets;
  for (u32 i = bucket[hash % buckets]; i; i = chain[i])
    if (symbols_[i].st_shndx && !strcmp(strings_ + symbols_[i].st_name, name))
      return reinterpret_cast<void*>(base_ + symbols_[i].st_value);
  return nullptr;
}

}  // namespace tprof
