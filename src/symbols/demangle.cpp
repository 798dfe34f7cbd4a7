#include "symbols/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace tprof {

std::string demangled(const std::string& name) {
  constexpr size_t kLongestSymbol = 8192;
  if (!name.starts_with("_Z") || name.size() > kLongestSymbol) return name;
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), free);
  return status == 0 && text ? text.get() : name;
}

}  // namespace tprof
