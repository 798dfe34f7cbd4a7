// Stack ids -> frames: line tables of every format, chains shared and cut, recordings that lack some.
#include <gtest/gtest.h>

#include "model/build.h"
#include "model/stacks.h"
#include "recording_builder.h"
#include "symbols/line_table.h"

namespace tprof {
namespace {

using namespace test;

// Line tables as Python wrote them, for a function of 166 lines with loops, long calls, handlers and a gap of
// 150 lines, and for one with an expression of 280 bytes. Lines hold up to the byte given; -1: none.
struct Sample {
  u16 python;
  i32 first_line;
  const char* table;  // in hexadecimal
  std::vector<std::pair<u64, i32>> lines;
};
const Sample kSamples[] = {
    {0x308,
     1,
     "000102010200020102ff02ff047f001a060202ff080302010401060102ff04ff080310012401020102ff",
     {{2, 2},
      {6, 3},
      {8, 4},
      {10, 3},
      {14, 2},
      {20, 155},
      {22, 157},
      {30, 156},
      {32, 159},
      {36, 160},
      {42, 161},
      {44, 162},
      {48, 161},
      {56, 160},
      {72, 163},
      {108, 164},
      {110, 165},
      {112, 166},
      {116, 165}}},
    {0x308, 1, "0001ff00170102ff", {{278, 2}, {280, 3}, {284, 2}}},
    {0x30a,
     1,
     "02010401020102ff04ff007f061a020208ff020304010601020104ff08ff0e030601088002ff02f90aff020a020104ff10f6"
     "020a020104ff",
     {{2, 2},    {6, 3},    {8, 4},     {10, 3},    {14, 2},    {20, 155},  {22, 157},  {30, 156},  {32, 159},
      {36, 160}, {42, 161}, {44, 162},  {48, 161},  {56, 160},  {70, 163},  {76, 164},  {84, -1},   {86, 163},
      {88, 156}, {98, 155}, {100, 165}, {102, 166}, {106, 165}, {122, 155}, {124, 165}, {126, 166}, {130, 165}}},
    {0x30a, 1, "fe011800020104ff", {{278, 2}, {280, 3}, {284, 2}}},
    {0x30b,
     1,
     "8000d8090ad8090a8851d80d0ef103010e0ff0030209118041f07204000a0bf00009051f8861e00c0df00302120af0000809"
     "1ff00008091f8841f006050d1fd8101190019021f00201131bf00001131bd81819f00301131bf10001131bf40001131bf103"
     "02111cf40002111cf00002111cf00002111cf8f50600141cf000010d1ff000010d1ff000010d1fd816179851900ef8f8f8f8"
     "f003010d1ff8f8f8f00f08091ff00309051ff00009051ff00009051ff10009051ff40009051ff00009051ff00009051ff000"
     "09051ff00009051ff00009051ff00009051ff8f8f8f00009051ff00009051ff00009051ff00009051ff014000d0ed80d0ef4"
     "03010d10f000010511",
     {{2, 1},     {4, 2},     {8, 3},     {10, 4},    {14, 3},    {18, 2},    {24, 155},
      {26, 157},  {34, 156},  {36, 159},  {42, 160},  {46, 161},  {48, 162},  {64, 161},
      {82, 160},  {84, -1},   {102, 163}, {108, 164}, {116, -1},  {118, 163}, {124, -1},
      {126, 156}, {158, 155}, {164, -1},  {172, 155}, {174, 165}, {176, 166}, {188, 165}}},
    {0x30b,
     1,
     "8000d80b0c88718935903189399071893d9831d10b1c9871d10b20a031d10b24a071d10b28a831d10b2ca871d10b30b031d1"
     "0b34b071d10b38b831d10b3cb871d10b40c031d10b44c071d10b48c831d10b4cc871d10b50d05354d10b54d05758d10b58d0"
     "5b5cd10b5cd05f60d10b60d06364d10b64d06768d10b68d06b6cd10b6cd06f70d10b70d07374d10b74d07778d10b78d07b7c"
     "d10b7cf0000040024102f100000c4102f0000044024502f100000c4502f0000048024902f100000c4902f000004c024d02f1"
     "00000c4d02f0000050025102f100000c5102f0000054025502f100000c5502f0000058025902f100000c5902f000005c025d"
     "02f100000c5d02f0000060026102f100000c6102f0000064026502f100000c6502f0000068026902f100000c6902f000006c"
     "026d02f100000c6d02f0000070027102f100000c7102f0000074027502f100000c7502f0000078027902f100000c7902f000"
     "007c027d02f100000c7d02f0000040034103f100000c4103f0000044034503f100000c4503f0000048034903f100000c4903"
     "f000004c034d03f100000c4d03f0000050035103f100000c5103f0000054035503f100000c5503f0000058035903f100000c"
     "5903f000005c035d03f100000c5d03f0000060036103f100000c6103f0000064036503f100000c6503f0000068036903f100"
     "000c6903f000006c036d03f100000c6d03f0000070037103f100000c7103f0000074037503f100000c7503f0000078037903"
     "f100000c7903f000007c037d03f100000c7d03f0000040044104f100000c4104f0000044044504f100000c4504f000004804"
     "4904f100000c4904f000004c044d04f100000c4d04f0000050045104f100000c5104f0000054045504f100000c5504f00000"
     "58045904f100000c5904f000005c045d04f100000c5d04f0000060046104f100000c6104d80a0bf103010c0cf00001050c",
     {{2, 1}, {418, 2}, {420, 3}, {426, 2}}},
    {0x30d,
     1,
     "8000d8090ad8090ad80d0ef103010e0ff0030209118041f17204000a0b8861e00c0df30302120a8841f006050d1fd9101190"
     "21e11819f30301131bd918199031f303001415d91819f10301131bf60302111cf10902120af703000a0bf014000d0ed80d0e"
     "f103010d10f000010511f9f20901131bf8e4131bf300010d1fd81617900efbf003010d1ffaf711000a0b8c11f014000d0ed8"
     "0d0ef103010d10f000010511fa",
     {{2, 1},     {4, 2},     {6, 3},     {8, 4},     {12, 3},    {16, 2},    {22, 155},  {24, 157},  {34, 156},
      {36, 159},  {42, 160},  {46, 162},  {54, 161},  {60, 162},  {68, 161},  {72, 162},  {76, 161},  {90, 160},
      {94, 156},  {110, 155}, {112, 165}, {114, 166}, {120, 165}, {124, -1},  {130, 161}, {132, -1},  {150, 163},
      {154, 164}, {162, -1},  {164, 163}, {170, -1},  {196, 155}, {198, 165}, {200, 166}, {206, 165}, {212, -1}}},
    {0x30d,
     1,
     "8000d80b0c8935903189399071893d9831d10b1c9871d10b20a031d10b24a071d10b28a831d10b2ca871d10b30b031d10b34"
     "b071d10b38b831d10b3cb871d10b40c031d10b44c071d10b48c831d10b4cc871d10b50d05354d10b54d05758d10b58d05b5c"
     "d10b5cd05f60d10b60d06364d10b64d06768d10b68d06b6cd10b6cd06f70d10b70d07374d10b74d07778d10b78d07b7cd10b"
     "7cf0000040024102f100000c4102f0000044024502f100000c4502f0000048024902f100000c4902f000004c024d02f10000"
     "0c4d02f0000050025102f100000c5102f0000054025502f100000c5502f0000058025902f100000c5902f000005c025d02f1"
     "00000c5d02f0000060026102f100000c6102f0000064026502f100000c6502f0000068026902f100000c6902f000006c026d"
     "02f100000c6d02f0000070027102f100000c7102f0000074027502f100000c7502f0000078027902f100000c7902f000007c"
     "027d02f100000c7d02f0000040034103f100000c4103f0000044034503f100000c4503f0000048034903f100000c4903f000"
     "004c034d03f100000c4d03f0000050035103f100000c5103f0000054035503f100000c5503f0000058035903f100000c5903"
     "f000005c035d03f100000c5d03f0000060036103f100000c6103f0000064036503f100000c6503f0000068036903f100000c"
     "6903f000006c036d03f100000c6d03f0000070037103f100000c7103f0000074037503f100000c7503f0000078037903f100"
     "000c7903f000007c037d03f100000c7d03f0000040044104f100000c4104f0000044044504f100000c4504f0000048044904"
     "f100000c4904f000004c044d04f100000c4d04f0000050045104f100000c5104f0000054045504f100000c5504f000005804"
     "5904f100000c5904f000005c045d04f100000c5d04f0000060046104f100000c6104d80a0bf103010c0cf00001050c",
     {{2, 1}, {416, 2}, {418, 3}, {424, 2}}},
};

std::string bytes_of(const char* hex) {
  std::string bytes;
  for (; *hex; hex += 2) bytes += static_cast<char>(std::stoi(std::string(hex, 2), nullptr, 16));
  return bytes;
}

TEST(LineTable, EveryInstructionHasTheLineThatPythonGivesIt) {
  for (const Sample& sample : kSamples) {
    CodeInfo code{0, 0, sample.first_line, sample.python, bytes_of(sample.table)};
    u64 at = 0;
    for (auto [end, line] : sample.lines)
      for (; at < end; at += 2) EXPECT_EQ(line_of(code, at), line) << sample.python << " at " << at;
  }
}

TEST(LineTable, DamagedTablesGiveNoLineOrAWrongOneButEnd) {
  for (const Sample& sample : kSamples) {
    std::string whole = bytes_of(sample.table);
    for (size_t bytes = 0; bytes < whole.size(); bytes++) {
      line_of({0, 0, 1, sample.python, whole.substr(0, bytes)}, 1 << 20);
      std::string damaged = whole;
      damaged[bytes] = static_cast<char>(~damaged[bytes]);
      line_of({0, 0, 1, sample.python, damaged}, 1 << 20);
    }
  }
  for (u16 python : {0x30a, 0x30b, 0x30e}) EXPECT_EQ(line_of({0, 0, 7, python, ""}, 0), kNoLine);
  EXPECT_EQ(line_of({0, 0, 7, 0x309, ""}, 0), 7);
  EXPECT_EQ(line_of({0, 0, 7, 0x30b, std::string(100, '\xff')}, 2000), kNoLine);
  EXPECT_EQ(line_of({0, 0, 7, 0x30b, "\xe8" + std::string(100, '\x7f')}, 0), kNoLine);  // a number without an end
}

class StacksTest : public testing::Test {
 protected:
  StacksTest() {
    meta.names = {{1, "work"}, {2, "main.py"}, {3, "<module>"}};
    meta.codes[1] = {1, 2, 10, 0x309, std::string("\0\1\4\1", 4)};  // lines 11, from byte 4 on 12
    meta.codes[2] = {3, 2, 1, 0x309, ""};
  }
  void node(u32 id, u32 parent, u32 code, u64 at) { meta.stacks[id] = {{}, parent, code, at}; }
  std::string text(u32 stack) {
    std::string all;
    for (u32 at = stack; at; at = model.stacks[at].parent) all += model.names[model.stacks[at].text] + ";";
    return all;
  }
  Meta meta;
  Model model;
};

TEST_F(StacksTest, InnermostFirstWithFileLineAndFunction) {
  node(1, 0, 2, 0);
  node(2, 1, 1, 0);
  node(3, 1, 1, 4);
  FrameTable frames(model);
  StackTable table(meta, model, frames);
  EXPECT_EQ(text(table({2, 0})), "main.py(11): work;main.py(1): <module>;");
  EXPECT_EQ(text(table({3, 0})), "main.py(12): work;main.py(1): <module>;");
  EXPECT_EQ(table({0, 0}), 0u);
  EXPECT_EQ(model.ledger.stacks_lost, 0u);
}

TEST_F(StacksTest, StacksWithTheSameTextAreOne) {
  node(1, 0, 2, 0);
  node(2, 0, 2, 8);
  node(3, 1, 1, 0);
  node(4, 2, 1, 2);
  FrameTable frames(model);
  StackTable table(meta, model, frames);
  EXPECT_EQ(table({3, 0}), table({4, 0}));
  EXPECT_EQ(model.stacks.size(), 3u);
}

TEST_F(StacksTest, CutAndLostStacksAreCounted) {
  node(1, 0, kStackCut, 0);
  node(2, 1, 1, 0);
  FrameTable frames(model);
  StackTable table(meta, model, frames);
  EXPECT_EQ(text(table({2, 0})), "main.py(11): work;(frames further out are not recorded);");
  table({2, 0});
  EXPECT_EQ(model.ledger.stacks_cut, 2u);
  EXPECT_EQ(table({kStackLost, 0}), 0u);
  EXPECT_EQ(table({77, 0}), 0u);
  EXPECT_EQ(model.ledger.stacks_lost, 2u);
}

TEST_F(StacksTest, WhatADamagedRecordingLacksIsSaid) {
  node(2, 9, 1, 0);   // a caller that would come later
  node(3, 3, 5, 0);   // its own caller, and code that is not there
  node(4, 1, 1, 99);  // a caller that is not there
  meta.codes[1].file = 8;
  FrameTable frames(model);
  StackTable table(meta, model, frames);
  EXPECT_EQ(text(table({2, 0})), "(name lost)(11): work;");
  EXPECT_EQ(text(table({3, 0})), "(frame lost);");
  EXPECT_EQ(text(table({4, 0})), "(name lost)(12): work;");
}

TEST_F(StacksTest, InstructionsWithoutALineAreShownWithout) {
  meta.codes[3] = {1, 2, 10, 0x30b, "\xf8"};
  node(1, 0, 3, 0);
  FrameTable frames(model);
  StackTable table(meta, model, frames);
  EXPECT_EQ(text(table({1, 0})), "main.py(?): work;");
}

}  // namespace
}  // namespace tprof
