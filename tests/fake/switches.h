// The environment switches of switches.def, all read when the first is asked for.
#pragma once
#include <array>
#include <cstdlib>
#include <cstring>

#include "types.h"

namespace sim {

enum class Switch {
#define SWITCH(variable, otherwise, meaning) variable,
#include "switches.def"
#undef SWITCH
  count
};

inline const char* text_of(Switch which) {
  static const auto values = [] {
    auto value_of = [](const char* variable, const char* otherwise) {
      const char* value = getenv(variable);
      return value != nullptr && *value != 0 ? strdup(value) : otherwise;
    };
    return std::array<const char*, size_t(Switch::count)>{
#define SWITCH(variable, otherwise, meaning) value_of(#variable, otherwise),
#include "switches.def"
#undef SWITCH
    };
  }();
  return values[size_t(which)];
}

inline u64 number_of(Switch which) { return strtoull(text_of(which), nullptr, 0); }

inline bool is(Switch which, const char* value) { return strcmp(text_of(which), value) == 0; }

}  // namespace sim
