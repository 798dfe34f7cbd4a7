#include "base/printable.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "base/types.h"

namespace tprof {
namespace {

std::string utf8(u32 code) {
  if (code < 0x80) return {char(code)};
  if (code < 0x800) return {char(0xc0 | code >> 6), char(0x80 | (code & 0x3f))};
  if (code < 0x10000) return {char(0xe0 | code >> 12), char(0x80 | (code >> 6 & 0x3f)), char(0x80 | (code & 0x3f))};
  return {char(0xf0 | code >> 18), char(0x80 | (code >> 12 & 0x3f)), char(0x80 | (code >> 6 & 0x3f)),
          char(0x80 | (code & 0x3f))};
}

std::string escape(u32 code) {
  char text[8];
  snprintf(text, sizeof text, "\\u%04x", code);
  return text;
}

std::string shown(std::string_view text, bool colors) {
  char* data = nullptr;
  size_t size = 0;
  FILE* to = open_memstream(&data, &size);
  print(to, text, colors);
  fclose(to);
  std::string out(data, size);
  free(data);
  return out;
}

TEST(Printable, EveryControlCharacterIsAnEscape) {
  for (u32 code = 0; code < 0x20; code++) EXPECT_EQ(printable("a" + utf8(code) + "b"), "a" + escape(code) + "b");
  for (u32 code = 0x7f; code < 0xa0; code++) EXPECT_EQ(printable(utf8(code)), escape(code));
}

TEST(Printable, SoIsWhatReordersOrHidesText) {
  for (u32 code : {0x061c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069,
                   0x2028, 0x2029, 0xfeff, 0xfff9, 0xfffa, 0xfffb})
    EXPECT_EQ(printable(utf8(code)), escape(code));
  EXPECT_EQ(printable(utf8(0xe0041)), "\\udb40\\udc41");  // as JSON has it
}

TEST(Printable, WhatIsNoUtf8IsShownByteByByte) {
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            "\\x9b31m");                                    // C1 as a terminal of one byte has it
  EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b");           // overlong
  EXPECT_EQ(printable("\xe2\x80"), "\\xe2\\x80");           // cut off
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half of a pair
  EXPECT_EQ(printable("\xf5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80");
}

TEST(Printable, AllOtherTextStays) {
  for (u32 code : {0x20, 0x7e, 0xa0, 0xe9, 0x4e2d, 0x2026, 0x1f600, 0x200d})
    EXPECT_EQ(printable(utf8(code)), utf8(code));
  EXPECT_EQ(printable("void f<float>(int) \\ 'x' \"y\""), "void f<float>(int) \\ 'x' \"y\"");
}

TEST(Printable, LinesStayLines) { EXPECT_EQ(shown("a\nb\r\nc\rd\te", false), "a\nb\r\nc\\u000dd\\u0009e"); }

TEST(Printable, ColorsPassOnlyWhereTheyAreWanted) {
  EXPECT_EQ(shown("\033[1;31mhot\033[0m", true), "\033[1;31mhot\033[0m");
  EXPECT_EQ(shown("\033[1;31mhot\033[0m", false), "\\u001b[1;31mhot\\u001b[0m");
  for (std::string other : {"\033[2J", "\033]0;title\007", "\033[?1049h", "\033[6n", "\033[11111111m", "\033"})
    EXPECT_EQ(shown(other, true).find('\033'), std::string::npos) << other;
}

}  // namespace
}  // namespace tprof
