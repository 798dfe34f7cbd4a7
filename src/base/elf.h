// Symbols of libraries that are already mapped, found by walking their own ELF tables.
//
// dlsym cannot see what Python loads RTLD_LOCAL (all of torch), and dlopen(RTLD_NOLOAD) from inside a nested
// dlopen re-enters half-initialised library constructors and crashes. This takes no loader lock beyond
// dl_iterate_phdr's own and never runs foreign code.
#pragma once
#include <link.h>

#include "base/types.h"

namespace tprof {

class ElfObject {
 public:
  // The first mapped object whose file name starts with `prefix` ("libtorch_cpu.so" also finds
  // libtorch_cpu.so.2.6). Check found().
  static ElfObject mapped(const char* prefix);

  bool found() const { return dyn_ != nullptr; }
  const char* path() const { return path_; }

  // What is mapped of it: [low, high).
  ElfW(Addr) low() const { return low_; }
  ElfW(Addr) high() const { return high_; }

  // Address of an exported symbol, or nullptr.
  void* symbol(const char* name) const;
  template <class F>
  bool symbol(F& out, const char* name) const {
    out = reinterpret_cast<F>(symbol(name));
    return out != nullptr;
  }

 private:
  static int visit(dl_phdr_info* info, size_t, void* arg);
  void* by_gnu_hash(const char* name) const;
  void* by_sysv_hash(const char* name) const;

  const char* prefix_ = nullptr;
  const ElfW(Dyn) * dyn_ = nullptr;
  ElfW(Addr) base_ = 0, low_ = ~ElfW(Addr)(0), high_ = 0;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* strings_ = nullptr;
  const u32* gnu_hash_ = nullptr;
  const u32* sysv_hash_ = nullptr;
  char path_[512] = {};
};

}  // namespace tprof
