// The page of `tprof top` in any size: nothing is wider or higher than the terminal.
#include <gtest/gtest.h>

#include "base/display_width.h"
#include "top/json.h"
#include "top/page.h"

namespace tprof {
namespace {

using live::ProgramView;

TEST(DisplayWidth, IsThatOfTheTerminal) {
  EXPECT_EQ(display_width("aten::mm"), 8u);
  EXPECT_EQ(display_width("日本"), 4u);
  EXPECT_EQ(display_width("e\u0301"), 1u) << "a combining accent";
  EXPECT_EQ(display_width("😀"), 2u);
  EXPECT_EQ(display_width("\xff"), 1u);
  EXPECT_EQ(cut_to_width("日本語", 5), "日本");
  EXPECT_EQ(cut_to_width("e\u0301x", 1), "e\u0301");
  EXPECT_EQ(cut_to_width("abc", 0), "");
}

ProgramView a_program(i32 rank) {
  ProgramView p;
  p.pid = 4242 + u32(rank);
  p.rank = rank;
  p.world_size = 2;
  p.command = "/usr/bin/python3 /home/me/train.py --epochs 10";
  p.phase = Phase::active;
  p.phase_text = "records steps 10 to 12 (window 1)";
  p.step = 11;
  p.rate = 81.25;
  p.mean_rate = 79.9;
  p.recent = {3, 8, 10, 0, 12.3e6, {}, {}};
  for (Category c : {Category::data_loading, Category::cpu, Category::other}) {
    p.recent.by[u32(c)] = 4.1e6;
    p.recent.shown[u32(c)] = true;
  }
  p.own_ns = 12.3e6;
  p.operators = {{"aten::convolution_backward", 5'000'000, 6'000'000, 30},
                 {"名前::ひどい\x1b[2J\nname with controls", 1'000'000, 9'000'000, 3}};
  for (int i = 0; i < 60; i++) p.operators.push_back({"aten::op" + std::to_string(i), 1000 - i, 2000, u64(i)});
  p.operators_self_ns = 7'000'000;
  for (int i = 0; i < 60; i++)
    p.lines.push_back({"/very/long/directory/of/a/package/file.py", "function_" + std::to_string(i), i, 5, 9});
  p.samples = 300;
  p.memory = {{"CPU", 1 << 20, 1 << 21, 0}};
  p.rss = 1 << 30;
  p.cpu = 1.01;
  p.workers = {{4300, 0, 2, 1, LoaderPart::fetch, 1'000'000, 12'000'000, 0.93},
               {4301, 1, 2, 1, LoaderPart::wait, 2'000'000, -1, -1}};
  return p;
}

TEST(TopPage, FitsAnySize) {
  for (size_t columns : {1, 2, 5, 11, 20, 40, 79, 80, 81, 132, 200, 500})
    for (size_t rows : {1, 2, 3, 5, 8, 10, 24, 25, 60, 200})
      for (size_t programs : {0, 1, 2}) {
        std::vector<ProgramView> all;
        for (size_t i = 0; i < programs; i++) all.push_back(a_program(i32(i)));
        PageStyle style{columns, rows, columns % 2 == 0, true};
        style.time = "12:00:00";
        style.waits = "nothing is recorded so far";
        std::vector<PageLine> page = page_of(all, style);
        EXPECT_EQ(page.size(), rows);
        for (const PageLine& line : page) {
          EXPECT_LE(display_width(line.text), columns) << line.text;
          for (char c : line.text) EXPECT_GE(u8(c), 0x20) << line.text;
        }
      }
}

std::string page_text(const std::vector<ProgramView>& programs, PageStyle style) {
  std::string out;
  for (const PageLine& line : page_of(programs, style)) out += line.text + "\n";
  return out;
}

TEST(TopPage, ShowsEverythingAt80x24) {
  PageStyle style{80, 24, false, true};
  std::string text = page_text({a_program(0), a_program(1)}, style);
  for (const char* part : {"pid 4242", "rank 0 of 2", "train.py --epochs 10", "Records steps 10 to 12", "Step 11",
                           "81.2/s", "mean 79.9/s", "CPU 101 %", "RSS 1.00 GB", "DataLoader", "CPU Exec", "33.3 %",
                           "aten::convolution_backward", "[Self]", "file.py:", "Rank", "q quit", "n next rank"})
    EXPECT_NE(text.find(part), text.npos) << part << "\n" << text;
}

TEST(TopPage, ASmallScreenKeepsTheRateAndTheTimeOfAStep) {
  std::string text = page_text({a_program(0)}, {40, 9, false, true});
  EXPECT_NE(text.find("81.2/s"), text.npos) << text;
  EXPECT_NE(text.find("CPU Exec"), text.npos) << text;
  EXPECT_EQ(text.find("file.py"), text.npos) << text;
}

TEST(TopPage, OnTheSmallestScreenTheRateComesFirst) {
  EXPECT_NE(page_of({a_program(0)}, {20, 1, false, true})[0].text.find("81.2/s"), std::string::npos);
  EXPECT_NE(page_text({a_program(0)}, {40, 6, false, true}).find("Time of a step"), std::string::npos);
}

TEST(TopPage, OperatorsAreInTheOrderThatWasChosen) {
  ProgramView p = a_program(0);
  EXPECT_EQ(sorted_operators(p, OperatorOrder::self)[0].name, "aten::convolution_backward");
  EXPECT_EQ(sorted_operators(p, OperatorOrder::total)[0].total_ns, 9'000'000);
  EXPECT_EQ(sorted_operators(p, OperatorOrder::calls)[0].calls, 59u);
  PageStyle style{80, 24, false, true};
  style.order = OperatorOrder::total;
  EXPECT_NE(page_text({p}, style).find("[Total]"), std::string::npos);
}

TEST(TopPage, WhatIsNotKnownIsNoZero) {
  ProgramView p;
  p.pid = 1;
  p.phase_text = "waits for window 1: step 30";
  std::string text = page_text({p}, {80, 24, false, true});
  EXPECT_NE(text.find("Step -"), text.npos) << text;
  EXPECT_NE(text.find("no step was recorded so far"), text.npos) << text;
  EXPECT_EQ(text.find("0.0 %"), text.npos) << text;
  Json json = top_json({p}, "");
  EXPECT_TRUE(json["programs"][0]["step"].is_null());
  EXPECT_TRUE(json["programs"][0]["recent_step"].is_null());
  EXPECT_TRUE(json["programs"][0]["rss_bytes"].is_null());
}

TEST(TopPage, OfManyRanksTheSlowAndTheChosenOneAreOnTheScreen) {
  std::vector<ProgramView> ranks;
  for (i32 i = 0; i < 64; i++) ranks.push_back(a_program(i));
  ranks[37].slow = true;
  ranks[37].own_ns = 36.9e6;
  ranks[37].next_own_ns = 12.3e6;
  PageStyle style{80, 24, false, true};
  style.chosen = 45;
  std::string text = page_text(ranks, style);
  size_t slow = text.find("\n  37 "), chosen = text.find("\n> 45 "), first = text.find("\n  0 ");
  ASSERT_NE(slow, text.npos) << text;
  ASSERT_NE(chosen, text.npos) << text;
  EXPECT_LT(slow, chosen);
  EXPECT_LT(chosen, first) << text;
  EXPECT_NE(text.find("slow: own x 3.0"), text.npos) << text;
  size_t rows = 0;
  for (const PageLine& line : page_of(ranks, style)) rows += line.text.find("81.2/s") != line.text.npos;
  EXPECT_NE(text.find("  ... " + std::to_string(64 - (rows - 1)) + " more\n"), text.npos) << text;
  style.rows = 0;
  text = page_text(ranks, style);
  EXPECT_LT(text.find("\n  0 "), text.find("\n  37 ")) << "where there is room they are in their order";
  EXPECT_EQ(text.find(" more\n"), text.npos);
}

TEST(TopPage, OldFiguresSayHowOldTheyAre) {
  ProgramView p = a_program(0);
  p.recent.age_ns = 12'000'000'000;
  EXPECT_NE(page_text({p}, {80, 24, false, true}).find("12 s ago"), std::string::npos);
}

}  // namespace
}  // namespace tprof
