// Numbers as text, by printf's formats.
#pragma once
#include <stdio.h>

#include <string>

namespace tprof {

// For short texts: what exceeds the buffer is cut off.
template <class... Args>
std::string printed(const char* format, Args... args) {
  char text[256];
  snprintf(text, sizeof text, format, args...);
  return text;
}

// A share of 0 to 1: "12.3 %".
inline std::string share_text(double share) { return printed("%.1f %%", 100 * share); }

}  // namespace tprof
