// Packed tables say what json_of() says, read by a decoder that follows the comment in report/pack.h alone.
#include "report/pack.h"

#include <gtest/gtest.h>
#include <string.h>
#include <zlib.h>

#include <cmath>
#include <limits>

#include "json/json.h"
#include "report/page.h"

namespace tprof {
namespace {

std::string unblobbed(const std::string& base64) {
  std::string bytes;
  u32 bits = 0, known = 0;
  for (char c : base64) {
    if (c == '=') break;
    const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bits = bits << 6 | static_cast<u32>(strchr(digits, c) - digits);
    if ((known += 6) >= 8) bytes += static_cast<char>(bits >> (known -= 8));
  }
  std::string out(1 << 20, '\0');
  z_stream stream{};
  inflateInit2(&stream, -MAX_WBITS);
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

class Decoder {
 public:
  explicit Decoder(const std::string& bytes) : bytes_(bytes) {}

  Json head() {
    u64 size = varint();
    at_ += size;
    return bounded_json(bytes_.substr(at_ - size, size));
  }

  Json rows() {
    Json head = this->head(), out = Json::array();
    for (size_t i = 0; i < head["n"].natural(); i++) out.push_back(Json::object());
    for (const Json& column : head["columns"]) {
      i64 last = 0;
      for (size_t i = 0; i < out.size(); i++) out[i][column["key"].text()] = value(head, column, i, last);
    }
    EXPECT_EQ(at_, bytes_.size());
    return out;
  }

 private:
  u64 varint() {
    u64 value = 0;
    for (u32 shift = 0;; shift += 7) {
      u8 byte = static_cast<u8>(bytes_.at(at_++));
      value |= u64(byte & 127) << shift;
      if (byte < 128) return value;
    }
  }

  Json value(const Json& head, const Json& column, size_t row, i64& last) {
    std::string as = column["as"].text();
    if (as == "json") return column["values"][row];
    if (as == "double") {
      double number;
      memcpy(&number, bytes_.substr(at_, 8).data(), 8);
      at_ += 8;
      return std::isnan(number) ? Json() : Json(number);
    }
    u64 coded = varint();
    if (coded == 0) return nullptr;
    if (as == "text") return head["strings"][coded - 1];
    u64 zigzag = coded - 1;
    last += static_cast<i64>(zigzag >> 1 ^ (~(zigzag & 1) + 1));
    return as == "ns" ? Json(static_cast<double>(last) / 1e3) : Json(last);
  }

  const std::string bytes_;
  size_t at_ = 0;
};

void expect_same(const Table& table) {
  EXPECT_EQ(json_indented(Decoder(unblobbed(base64(deflated(packed(table))))).rows()),
            json_indented(json_of(table)["rows"]));
}

Table sample() {
  Table t;
  t.columns = {{"name", "", Unit::text},   {"frames", "", Unit::lines}, {"tc", "", Unit::yes_no},
               {"calls", "", Unit::count}, {"time", "", Unit::time},    {"share", "", Unit::percent},
               {"mixed", "", Unit::count}, {"nothing", "", Unit::time}};
  t.rows = {{"aten::mm", "a.py(1): f\nb.py(2): g", i64{1}, i64{3}, i64{1234567}, 62.5, i64{1}, {}},
            {"aten::add", {}, i64{0}, i64{-3}, i64{-1}, 1.0 / 3, 0.5, {}},
            {{}, "a.py(1): f\nb.py(2): g", {}, {}, {}, {}, "text", {}},
            {"aten::mm", "", i64{1}, i64{1} << 49, i64{0}, -0.0, {}, {}}};
  return t;
}

TEST(Pack, EveryKindOfColumnComesBackAsJsonSaysIt) { expect_same(sample()); }

TEST(Pack, ATableWithoutRowsComesBack) {
  Table t = sample();
  t.rows.clear();
  expect_same(t);
}

TEST(Pack, WhatADeltaCannotHoldIsKeptAsJson) {
  Table t{"", {{"address", "", Unit::count}, {"at", "", Unit::time}}, {}, {}};
  i64 most = std::numeric_limits<i64>::max(), least = std::numeric_limits<i64>::min();
  t.rows = {{most, least}, {least, most}, {i64{0}, {}}, {i64{1} << 50, i64{1} << 50}};
  expect_same(t);
  t.rows = {{i64{1} << 50, -(i64{1} << 50)}, {-(i64{1} << 50), i64{1} << 50}};  // the largest that deltas hold
  expect_same(t);
}

TEST(Pack, NumbersThatJsonDoesNotHaveAreNull) {
  Table t{"", {{"x", "", Unit::number}}, {}, {}};
  t.rows = {{std::nan("")}, {std::numeric_limits<double>::infinity()}, {1e308}, {5e-324}};
  expect_same(t);
}

TEST(Pack, TextsOfAnyBytesAreThoseOfTheJson) {
  Table t{"", {{"name", "", Unit::text}}, {}, {}};
  for (const char* text :
       {"</script><script>alert(1)</script>", "\xff\xfe broken", "\xe2\x80\xae right to left", "\"quoted\"", ""})
    t.rows.push_back({text});
  t.rows.push_back({std::string(64 << 10, 'x')});
  EXPECT_EQ(json_indented(Decoder(packed(t)).rows()), json_indented(bounded_json(json_indented(json_of(t)["rows"]))));
}

// --- the page around them

const std::string kViewer = std::string("<html>") + kDataMark + "<script></script></html>";

TEST(Page, DetailsAreLeftOutLargestFirstAndAggregatesNever) {
  Page page;
  Table small = sample(), large = sample();
  for (u32 i = 0; i < 5000; i++) large.rows.push_back({std::to_string(i * 2654435761u), {}, {}, {}, {}, {}, {}, {}});
  Json document = {{"sums", page.add(large)},
                   {"small", page.add(small, Page::Keep::if_it_fits)},
                   {"large", page.add(large, Page::Keep::if_it_fits)}};
  size_t whole = page.html(document, kViewer).size();
  Page same = page;
  EXPECT_EQ(same.fit(document, kViewer, whole), "");
  EXPECT_NE(page.fit(document, kViewer, whole - 1).find("1 of 3 tables"), std::string::npos);
  EXPECT_TRUE(document["large"]["rows"].contains("left_out"));
  EXPECT_TRUE(document["small"]["rows"].contains("packed"));
  EXPECT_EQ(page.html(document, kViewer).find("tprof-blob-2"), std::string::npos);
  page.fit(document, kViewer, 1);
  EXPECT_TRUE(document["sums"]["rows"].contains("packed"));
}

TEST(Page, NothingOfTheDataIsHtml) {
  Page page;
  Table t{"", {{"name", "", Unit::text}}, {{"</script><img src=x onerror=alert(1)>"}}, {}};
  std::string html = page.html({{"table", page.add(t)}, {"note", "--></script>"}}, kViewer);
  EXPECT_EQ(html.find("onerror"), std::string::npos);
  EXPECT_EQ(html.find("-->", html.find("tprof-document")), std::string::npos);
}

}  // namespace
}  // namespace tprof
