// Parsing: the values are those that nlohmann/json finds, and what it refuses is refused.
#include "kineto/read/parse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "random_json.h"

namespace tprof::kineto {
namespace {

using Json = nlohmann::json;

struct Parsed {
  explicit Parsed(const std::string& json, Strictness strictness = Strictness::strict) : text(json) {
    good = parse_json(text, strictness, values, error);
  }
  const Value& value() const { return values[0]; }
  std::string text;
  Values values;
  ParseError error;
  bool good;
};

Json json_of(const Value& value) {
  if (value.is_null()) return nullptr;
  if (value.is_text()) return std::string(value.as_text());
  if (value.is_i64()) return value.as_i64();
  if (value.is_u64()) return value.as_u64();
  if (value.is_number()) return value.as_double();
  Json out = value.is_list() ? Json::array() : Json::object();
  u32 count = 0;
  for (const Value& element : value.elements()) out.push_back(json_of(element)), count++;
  for (auto [key, one] : value.members()) out[std::string(key)] = json_of(one), count++;
  EXPECT_EQ(count, value.size());
  return out;
}

TEST(ParseTest, any_document_gives_its_values) {
  std::mt19937 random(1);
  for (int round = 0; round < 3000; round++) {
    Json document = test::random_json(random, false);
    std::string text = document.dump(random() % 2 ? -1 : 2, ' ', random() % 2);
    Parsed parsed(text);
    ASSERT_TRUE(parsed.good) << parsed.error.why << " at " << parsed.error.where << "\n" << text;
    ASSERT_EQ(json_of(parsed.value()), document) << text;
  }
}

TEST(ParseTest, a_damaged_document_is_refused_or_read_as_by_others) {
  std::mt19937 random(2);
  static const char bytes[] = "\"\\{}[],: 0-+.eEtfnu\x01\x80\xff";
  u32 refused = 0;
  for (int round = 0; round < 30000; round++) {
    std::string text = test::random_json(random, false).dump(-1, ' ', random() % 2);
    for (unsigned n = random() % 2 + 1; n > 0 && !text.empty(); n--) {
      size_t at = random() % text.size();
      if (random() % 3)
        text[at] = bytes[random() % (sizeof bytes - 1)];
      else
        text.erase(at, random() % 3 + 1);
    }
    Parsed parsed(text);
    Json other = Json::parse(text, nullptr, false);
    ASSERT_EQ(parsed.good, !other.is_discarded()) << text << "\n" << parsed.error.why;
    if (parsed.good) {
      ASSERT_EQ(json_of(parsed.value()), other) << text;
    }
    refused += !parsed.good;
    EXPECT_LE(parsed.error.where, text.size());
  }
  EXPECT_GT(refused, 3000u);
}

TEST(ParseTest, numbers_are_exact) {
  for (const char* text :
       {"0", "-0", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "999999999999999999",
        "1234567890123456.125", "9007199254740993.5", "0.1", "1e22", "1e23", "2.5E-3", "123456789012345678901234567890",
        "4.9e-324", "1.7976931348623157e308", "0.000001", "1760000000123456.789", "-0.5", "1e-400"}) {
    Parsed parsed(text);
    ASSERT_TRUE(parsed.good) << text;
    EXPECT_EQ(parsed.value().as_double(), strtod(text, nullptr)) << text;
    Json other = Json::parse(text);
    EXPECT_EQ(parsed.value().is_integer(), other.is_number_integer()) << text;
    if (other.is_number_unsigned()) {
      EXPECT_EQ(parsed.value().as_u64(), other.get<u64>()) << text;
    }
  }
  for (const char* text : {"1e999", "-1e999", "01", "1.", ".5", "+1", "-", "1e", "1e+", "NaN", "-Infinity", "0x1"})
    EXPECT_FALSE(Parsed(text).good) << text;
}

TEST(ParseTest, leniently_it_also_takes_what_python_and_old_profilers_write) {
  EXPECT_TRUE(std::isnan(Parsed("NaN", Strictness::lenient).value().as_double()));
  EXPECT_EQ(Parsed("-Infinity", Strictness::lenient).value().as_double(), -INFINITY);
  EXPECT_EQ(Parsed("[Inf]", Strictness::lenient).value().size(), 1u);
  EXPECT_EQ(Parsed("\"\xff\"", Strictness::lenient).value().as_text(), "\xff");
  EXPECT_FALSE(Parsed("nan", Strictness::lenient).good);
  EXPECT_FALSE(Parsed("\"\x01\"", Strictness::lenient).good);
}

TEST(ParseTest, a_million_brackets_are_no_danger) {
  std::string deep(1'000'000, '[');
  EXPECT_FALSE(Parsed(deep).good);
  Parsed parsed(deep + std::string(deep.size(), ']'));
  ASSERT_TRUE(parsed.good);
  EXPECT_EQ(parsed.values.size(), deep.size());
}

}  // namespace
}  // namespace tprof::kineto
