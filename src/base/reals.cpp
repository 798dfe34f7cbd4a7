#include "base/reals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmath>
#include <limits>

namespace tprof {

std::optional<double> read_real(std::string_view text) {
  // What strtod takes beyond that: blanks, a plus, hexadecimal numbers.
  constexpr std::string_view kNoBegin = " \t\n\v\f\r+";
  if (text.empty() || kNoBegin.find(text[0]) != text.npos || text.find_first_of("xX") != text.npos) return std::nullopt;
  std::string long_copy;
  char copy[64];  // most numbers fit
  const char* begin = copy;
  if (text.size() < sizeof copy) {
    memcpy(copy, text.data(), text.size());
    copy[text.size()] = 0;
  } else {
    long_copy = text;
    begin = long_copy.c_str();
  }
  char* end;
  errno = 0;
  double number = strtod(begin, &end);
  bool too_large = errno == ERANGE && std::isinf(number);
  if (end != begin + text.size() || too_large) return std::nullopt;
  return number;
}

template <class Real, class Read>
static std::string shortest(Real value, Read read) {
  char text[32];
  for (int digits = std::numeric_limits<Real>::digits10;; digits++) {
    int length = snprintf(text, sizeof text, "%.*g", digits, double(value));
    if (digits == std::numeric_limits<Real>::max_digits10 || read(text, nullptr) == value)
      return std::string(text, size_t(length));
  }
}

std::string write_real(double value) { return shortest(value, strtod); }
std::string write_real(float value) { return shortest(value, strtof); }

}  // namespace tprof
