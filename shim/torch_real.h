// The real function for a function of torch that is exported here. torch loads its libraries with RTLD_LOCAL, so
// RTLD_NEXT would not find it. A library that has the function itself, as an extension that is linked statically with
// libtorch, gets its own.
#pragma once
#include <atomic>

#include "base/elf.h"

namespace tprof {

template <class F>
class TorchReal {
 public:
  // `library`: the start of its file name.
  constexpr TorchReal(const char* library, const char* symbol) : library_(library), symbol_(symbol) {}
  // `caller`: an address in the library that calls.
  F get(const void* caller) {
    auto at = reinterpret_cast<uintptr_t>(caller);
    u32 count = count_.load(std::memory_order_acquire);
    for (u32 i = 0; i < count; i++)
      if (at - callers_[i].low < callers_[i].bytes) return found_.load(std::memory_order_relaxed);
    return find(caller);
  }
  bool is_torchs(F real) const { return real == found_.load(std::memory_order_relaxed); }

 private:
  struct Caller {
    uintptr_t low, bytes;
  };
  static constexpr u32 kMostCallers = 8;  // further ones are looked at each time

  __attribute__((noinline)) F find(const void* caller) {
    ElfObject object = ElfObject::first([&](const ElfObject& o) { return o.holds(caller); });
    F real = nullptr;
    if (object.found() && !object.holds(this) && (object.symbol(real, symbol_) || find_needed(object, real)) &&
        real != find_torchs())
      return real;  // not kept: the library may be unloaded, and others get its addresses
    real = find_torchs();
    if (real && object.found()) add({object.low(), object.high() - object.low()});
    return real;
  }
  // In what the library needs: that of its own copy, whatever that is called.
  bool find_needed(const ElfObject& object, F& real) {
    return object.any_needed([&](const char* name) {
      ElfObject needed = ElfObject::first([&](const ElfObject& o) { return !o.holds(this) && o.is_called(name); });
      return needed.found() && needed.symbol(real, symbol_);
    });
  }
  void add(const Caller& caller) {
    if (adding_.exchange(true, std::memory_order_acquire)) return;
    u32 count = count_.load(std::memory_order_relaxed);
    if (count < kMostCallers) {
      callers_[count] = caller;
      count_.store(count + 1, std::memory_order_release);
    }
    adding_.store(false, std::memory_order_release);
  }
  // If no library has that name, takes any other object that exports the symbol.
  F find_torchs() {
    F real = found_.load(std::memory_order_relaxed);
    if (real) return real;
    auto exports = [&](const ElfObject& object) { return !object.holds(this) && object.symbol(real, symbol_); };
    if (ElfObject::mapped(library_).symbol(real, symbol_) || ElfObject::first(exports).found())
      found_.store(real, std::memory_order_relaxed);
    return real;
  }
  const char *library_, *symbol_;
  std::atomic<u32> count_{0};
  Caller callers_[kMostCallers] = {};  // of torch's own function
  std::atomic<F> found_{nullptr};
  std::atomic<bool> adding_{false};
};

}  // namespace tprof
