// Converts values of trace events as profilers write them: numbers in quotes, microseconds of any size, ids of any
// type.
#pragma once
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/reals.h"
#include "kineto/read/parse.h"

namespace tprof::kineto {

// The number that the value or its text is.
inline std::optional<double> number_of(const Value& value) {
  if (value.is_number()) return value.as_double();
  return read_real(text_of(value));
}

inline std::optional<i64> integer_of(const Value& value) {
  if (value.is_i64()) return value.as_i64();
  if (value.is_u64()) return i64(value.as_u64());  // for addresses, the bits matter
  std::string_view text = text_of(value);
  i64 integer;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), integer);
  if (!text.empty() && error == std::errc() && end == text.data() + text.size()) return integer;
  std::optional<double> number = number_of(value);
  if (number && std::fabs(*number) < 9e18) return i64(*number);
  return std::nullopt;
}

// A decimal number of microseconds as nanoseconds, exactly up to 73 years: times since 1970 have more digits than a
// double. Beyond that, and with an exponent, as a double. Nothing if it is no number or exceeds 285 years.
inline std::optional<i64> ns_of_text(std::string_view text) {
  constexpr i64 kMaxUs = INT64_MAX / 4000;
  size_t point = std::min(text.find('.'), text.size());
  std::string_view rest = text.substr(std::min(point + 1, text.size()));
  i64 us;
  auto [end, error] = std::from_chars(text.data(), text.data() + point, us);
  bool plain = point > 0 && error == std::errc() && end == text.data() + point && us < kMaxUs && us > -kMaxUs;
  if (plain && rest.find_first_not_of("0123456789") == rest.npos) {
    i64 thousandths = 0;
    for (size_t i = 0; i < 3; i++) thousandths = thousandths * 10 + (i < rest.size() ? rest[i] - '0' : 0);
    if (rest.size() > 3 && rest[3] >= '5') thousandths++;
    return us * 1000 + (text[0] == '-' ? -thousandths : thousandths);
  }
  std::optional<double> number = read_real(text);
  if (!number || !(std::fabs(*number) < 9e15)) return std::nullopt;
  return std::llround(*number * 1000);
}

// Microseconds as nanoseconds; nothing if the value is no number or exceeds 290 years.
inline std::optional<i64> ns_of(const Value& value) {
  constexpr i64 kMaxUs = INT64_MAX / 1000;
  if (value.is_text()) return ns_of_text(value.as_text());
  if (value.is_i64()) {
    i64 us = value.as_i64();
    return us > kMaxUs || us < -kMaxUs ? std::nullopt : std::optional(us * 1000);
  }
  std::optional<double> us = number_of(value);
  if (!us || !(std::fabs(*us) < double(kMaxUs))) return std::nullopt;
  return std::llrint(static_cast<long double>(*us) * 1000);
}

// A figure of a GPU activity, -1 if it is none: kernels of other vendors' GPUs state "inf" or nothing.
inline float figure_of(const Value& value) {
  std::optional<double> number = number_of(value);
  return number && std::isfinite(*number) && *number >= 0 ? static_cast<float>(*number) : -1;
}

// The value if it fits into 32 bits, else `otherwise`.
inline u32 u32_of(const Value& value, u32 otherwise) {
  std::optional<i64> integer = integer_of(value);
  return integer && *integer >= 0 && *integer < 0xffffffff ? u32(*integer) : otherwise;
}

}  // namespace tprof::kineto
