// The environment switches of switches.def, read when they are first asked for.
#pragma once
#include <cstdlib>
#include <cstring>

#include "types.h"

namespace sim {

enum class Switch {
#define SWITCH(variable, otherwise, meaning) variable,
#include "switches.def"
#undef SWITCH
};

inline const char* text_of(Switch which) {
  static const struct {
    const char *variable, *otherwise;
  } table[] = {
#define SWITCH(variable, otherwise, meaning) {#variable, otherwise},
#include "switches.def"
#undef SWITCH
  };
  const char* value = getenv(table[static_cast<int>(which)].variable);
  return value != nullptr && *value != 0 ? value : table[static_cast<int>(which)].otherwise;
}

inline u64 number_of(Switch which) { return strtoull(text_of(which), nullptr, 0); }

inline bool is(Switch which, const char* value) { return strcmp(text_of(which), value) == 0; }

}  // namespace sim
