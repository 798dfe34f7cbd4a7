// Symbols of libraries that are already mapped, found by walking their own ELF tables.
//
// dlsym cannot see what Python loads RTLD_LOCAL (all of torch), and dlopen(RTLD_NOLOAD) from inside a nested
// dlopen re-enters half-initialised library constructors and crashes. This takes no loader lock beyond that
// of a walk (base/loaded.h), never runs foreign code and allocates nothing, so it may run inside the profiled program.
// Files on disk are read by symbols/elf_file.h.
#pragma once
#include <link.h>

#include "base/types.h"

namespace tprof {

class ElfObject {
 public:
  // The first mapped object whose file name starts with `prefix` ("libtorch_cpu.so" also finds
  // libtorch_cpu.so.2.6). Check found().
  static ElfObject mapped(const char* prefix);
  // The first mapped object, in load order, for which wanted(object) is true.
  template <class Wanted>
  static ElfObject first(Wanted wanted) {
    return search([](const ElfObject& object, void* arg) { return bool((*static_cast<Wanted*>(arg))(object)); },
                  &wanted);
  }

  bool found() const { return dyn_ != nullptr; }
  const char* path() const { return path_; }
  const char* file() const;  // the last part of the path

  // Its segments are mapped in [low, high).
  ElfW(Addr) low() const { return low_; }
  ElfW(Addr) high() const { return high_; }
  bool holds(const void* address) const {
    auto at = reinterpret_cast<ElfW(Addr)>(address);
    return at >= low_ && at < high_;
  }

  // Whether a DT_NEEDED of this name refers to the object: by its DT_SONAME, or by its file name.
  bool is_called(const char* name) const;
  // Calls each(name) for its DT_NEEDED entries in order, until a call returns true.
  template <class Each>
  bool any_needed(Each each) const {
    for (const auto* d = dyn_; strings_ && d && d->d_tag != DT_NULL; d++)
      if (d->d_tag == DT_NEEDED && each(strings_ + d->d_un.d_val)) return true;
    return false;
  }

  // Address of an exported symbol, or nullptr.
  void* symbol(const char* name) const;
  template <class F>
  bool symbol(F& out, const char* name) const {
    out = reinterpret_cast<F>(symbol(name));
    return out != nullptr;
  }

 private:
  static ElfObject search(bool (*wanted)(const ElfObject&, void*), void* arg);
  bool read(const dl_phdr_info* info);
  void* by_gnu_hash(const char* name) const;
  void* by_sysv_hash(const char* name) const;

  const char* path_ = "";  // owned by the loader: valid while the object is mapped
  const ElfW(Dyn) * dyn_ = nullptr;
  ElfW(Addr) base_ = 0, low_ = ~ElfW(Addr)(0), high_ = 0;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* strings_ = nullptr;
  const u32* gnu_hash_ = nullptr;
  const u32* sysv_hash_ = nullptr;
  const char* soname_ = nullptr;
};

}  // namespace tprof
