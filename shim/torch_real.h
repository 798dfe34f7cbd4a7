// The real function for a function of torch that is exported here. torch loads its libraries with RTLD_LOCAL, so
// RTLD_NEXT would not find it.
#pragma once
#include <atomic>

#include "base/elf.h"

namespace tprof {

template <class F>
class TorchReal {
 public:
  // `library`: the start of its file name.
  constexpr TorchReal(const char* library, const char* symbol) : library_(library), symbol_(symbol) {}
  F get() {
    F real = found_.load(std::memory_order_relaxed);
    return real ? real : find();
  }

 private:
  // If no library has that name, takes any other object that exports the symbol.
  __attribute__((noinline)) F find() {
    F real = nullptr;
    auto exports = [&](const ElfObject& object) { return !object.holds(this) && object.symbol(real, symbol_); };
    if (ElfObject::mapped(library_).symbol(real, symbol_) || ElfObject::first(exports).found())
      found_.store(real, std::memory_order_relaxed);
    return real;
  }
  const char *library_, *symbol_;
  std::atomic<F> found_{nullptr};
};

}  // namespace tprof
