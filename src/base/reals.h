// Floating-point numbers as text and as bits. std::from_chars and std::to_chars of them, and std::bit_cast, are not in
// the library of g++ 10, with which releases are built. Tool side only.
#pragma once
#include <string.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/types.h"

namespace tprof {

// The number that the whole text is, rounded correctly: as in JSON, or "inf", "nan" with or without a minus. Nothing if
// it is none, or too large for a double.
std::optional<double> read_real(std::string_view text);

// With the fewest digits by which the same value is read back; of a subnormal value, with more.
std::string write_real(double value);
std::string write_real(float value);

// The same bits as another type.
template <class To, class From>
To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

}  // namespace tprof
