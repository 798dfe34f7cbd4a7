// Documents: their form, what reading gives where there is nothing, and what is bounded.
#include "json/json.h"

#include <gtest/gtest.h>

#include <limits>

namespace tprof {
namespace {

TEST(Form, ListsOfPairsAreObjectsInTheirOrder) {
  Json inner = {1, "two", nullptr, true};
  Json document = {{"z", 1}, {"a", inner}, {"none", {}}, {"empty", Json::array()}, {"object", Json::object()}};
  EXPECT_EQ(json_line(document), R"({"z":1,"a":[1,"two",null,true],"none":null,"empty":[],"object":{}})");
  EXPECT_EQ(inner.size(), 4u);  // what is named in a list is copied
  EXPECT_EQ(json_indented({{"a", {1, 2}}}), "{\n \"a\": [\n  1,\n  2\n ]\n}");
}

TEST(Form, ARangeIsTheElementsOfAnArrayAndTheValuesOfAnObject) {
  auto sum = [](const Json& document) {
    i64 out = 0;
    for (const Json& value : document) out += value.integer();
    return out;
  };
  EXPECT_EQ(sum({1, 2, 3}), 6);
  EXPECT_EQ(sum({{"a", 1}, {"b", 2}, {"c", 3}}), 6);
  EXPECT_EQ(sum(Json::array()) + sum(Json::object()) + sum(Json()) + sum("text"), 0);
  Json document = {{"a", 1}, {"b", 2}};
  for (Json& value : document) value = value.integer() * 10;
  EXPECT_EQ(json_line(document), R"({"a":10,"b":20})");
}

TEST(Reading, WhatIsNotThereIsNullOrRefused) {
  const Json document = {{"n", -3}, {"text", "x"}, {"list", {1}}};
  EXPECT_TRUE(document["none"]["deeper"].is_null());
  EXPECT_TRUE(document["text"]["deeper"].is_null());
  EXPECT_EQ(document.value("text", "otherwise"), "x");
  EXPECT_EQ(document.value("n", "otherwise"), "otherwise");
  EXPECT_THROW(document.at("none"), JsonError);
  EXPECT_THROW(document["list"].at(1), JsonError);
  EXPECT_THROW(document["n"].text(), JsonError);
  EXPECT_THROW(Json(1.5).integer(), JsonError);
  EXPECT_EQ(document["n"].real(), -3.0);
}

TEST(Reading, NumbersAreEqualByValue) {
  EXPECT_EQ(Json(1), Json(1u));
  EXPECT_EQ(Json(1), Json(1.0));
  EXPECT_NE(Json(-1), Json(std::numeric_limits<u64>::max()));
  EXPECT_NE(Json(1), Json("1"));
  EXPECT_EQ(bounded_json("18446744073709551615").natural(), std::numeric_limits<u64>::max());
  EXPECT_EQ(bounded_json("-9223372036854775808").integer(), std::numeric_limits<i64>::min());
}

TEST(Parsing, OnlyJsonIsReadAndTheLastOfEqualKeysCounts) {
  for (const char* text : {"", "{", "[1,]", "{\"a\": 1} x", "nul", "[1e999]"})
    EXPECT_TRUE(bounded_json(text).is_null()) << text;
  EXPECT_EQ(json_line(bounded_json(R"({"a": 1, "b": [], "a": {"c": 2.50}})")), R"({"a":{"c":2.5},"b":[]})");
}

TEST(Parsing, WhatLiesTooDeepIsLeftOut) {
  std::string deep = std::string(100000, '[') + std::string(100000, ']');
  Json document = bounded_json(R"({"deep": )" + deep + R"(, "flat": 1})");
  EXPECT_EQ(document["flat"], 1);
  size_t levels = 0;
  for (const Json* at = &document["deep"]; at->is_array(); at = at->empty() ? &document["flat"] : &at->at(0)) levels++;
  EXPECT_EQ(levels, 63u);  // the object is the first of 64
}

TEST(Printing, TextsAreValidAndFractionsExact) {
  EXPECT_EQ(json_line("a\"\n\xff"), "\"a\\\"\\n\xef\xbf\xbd\"");
  EXPECT_EQ(json_ascii("\xc3\xa9"), R"("\u00e9")");
  EXPECT_EQ(json_line(0.1), "0.1");
  EXPECT_EQ(json_line(2.0), "2.0");
  EXPECT_EQ(json_line(std::numeric_limits<double>::quiet_NaN()), "null");
}

}  // namespace
}  // namespace tprof
