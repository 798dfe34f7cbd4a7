// How often a test repeats what it does with random data.
#pragma once

// A tenth of the usual number under AddressSanitizer, which is ten times as slow and sees what a round does to memory.
constexpr int rounds(int usual) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  return usual / 10;
#endif
#endif
  return usual;
}
