#include "base/reals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace tprof {
namespace {

TEST(Reals, TextThatIsANumberIsRead) {
  EXPECT_EQ(read_real("0"), 0.0);
  EXPECT_EQ(read_real("-1.5e-3"), -1.5e-3);
  EXPECT_EQ(read_real("1e+5"), 1e5);
  EXPECT_EQ(read_real("1712345678901234.567"), 1712345678901234.567);
  EXPECT_EQ(read_real("1e-400"), 0.0);
  EXPECT_EQ(read_real("0." + std::string(100, '0') + "1"), 1e-101);
  EXPECT_EQ(read_real("-inf"), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(read_real("nan").value()));
}

TEST(Reals, OtherTextIsNone) {
  for (std::string_view text : {"", " 1", "1 ", "+1", "0x10", "1.5us", "one", "-", "1e400", "--1"})
    EXPECT_EQ(read_real(text), std::nullopt) << text;
  EXPECT_EQ(read_real(std::string_view("1\0", 2)), std::nullopt);
  EXPECT_EQ(read_real("12345").value(), read_real(std::string_view("123456").substr(0, 5)).value());
}

TEST(Reals, FewestDigitsAreWritten) {
  EXPECT_EQ(write_real(0.1), "0.1");
  EXPECT_EQ(write_real(0.1f), "0.1");
  EXPECT_EQ(write_real(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(write_real(-2.0), "-2");
  EXPECT_EQ(write_real(1e300), "1e+300");
}

TEST(Reals, WhatIsWrittenIsReadBack) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; i++) {
    double value = same_bits<double>(u64(random()));
    if (!std::isfinite(value)) continue;
    ASSERT_EQ(read_real(write_real(value)), value);
    float narrow = same_bits<float>(u32(random()));
    if (std::isfinite(narrow)) {
      ASSERT_EQ(strtof(write_real(narrow).c_str(), nullptr), narrow);
    }
  }
}

}  // namespace
}  // namespace tprof
