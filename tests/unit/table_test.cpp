// Tables as text, CSV and JSON.
#include "report/table.h"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace tprof {
namespace {

Table sample() {
  Table t;
  t.title = "Operators";
  t.columns = {{"name", "Name", Unit::text}, {"share", "Self %", Unit::percent, 1}, {"host_self_duration", "Self CPU", Unit::time},
               {"size", "Size", Unit::bytes, 2}, {"tc", "TC", Unit::yes_no, 3}, {"calls", "Calls", Unit::count}};
  t.rows = {{"aten::mm", 62.5, i64{1234567}, i64{1536}, i64{1}, i64{3}},
            {"a name, with \"quotes\"", 37.5, i64{999}, Value(), i64{0}, i64{12}}};
  return t;
}

TextStyle style(int width, bool color = false, bool utf8 = false) { return {width, color, utf8}; }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    lines.push_back(text.substr(at, end - at));
  return lines;
}

TEST(Table, NumbersAlignRightNamesLeft) {
  EXPECT_EQ(text_of(sample(), style(100)),
            "Operators\n"
            "Name                   Self %  Self CPU     Size   TC  Calls\n"
            "---------------------  ------  --------  -------  ---  -----\n"
            "aten::mm               62.50%   1.235ms  1.50 Kb  Yes      3\n"
            "a name, with \"quotes\"  37.50%   0.999us        -   No     12\n");
}

TEST(Table, TimesAndSizesTakeTorchsUnits) {
  EXPECT_EQ(time_text(0), "0.000us");
  EXPECT_EQ(time_text(999'999), "999.999us");
  EXPECT_EQ(time_text(1'000'000), "1.000ms");
  EXPECT_EQ(time_text(2'500'000'000), "2.500s");
  EXPECT_EQ(time_text(-1'500'000), "-1.500ms");
  EXPECT_EQ(bytes_text(1023), "1023 b");
  EXPECT_EQ(bytes_text(-(2 << 20)), "-2.00 Mb");
  EXPECT_EQ(bytes_text(3ll << 30), "3.00 Gb");
}

TEST(Table, NoLineIsWiderThanTheTerminal) {
  Table t = sample();
  t.rows[0][0] = std::string(300, 'x');
  for (int width : {60, 72, 80, 120, 200})
    for (const std::string& line : lines_of(text_of(t, style(width)))) {
      EXPECT_LE(line.size(), static_cast<size_t>(width)) << line;
    }
}

TEST(Table, LongNamesAreCutInTheMiddle) {
  EXPECT_EQ(cut_middle("abcdefghij", 7, false), "ab...ij");
  EXPECT_EQ(cut_middle("abcdefghij", 7, true), "abc…hij");
  EXPECT_EQ(cut_middle("abcdefghij", 10, true), "abcdefghij");
  EXPECT_EQ(cut_middle("ééééééééé", 5, true), "éé…éé");
}

TEST(Table, FunctionsAreShownWithoutReturnTypeAndParameters) {
  Table t{"", {{"name", "Name", Unit::function}}, {}, {}};
  auto shown = [&](const char* name) {
    t.rows = {{name}};
    return lines_of(text_of(t, style(0))).back();
  };
  EXPECT_EQ(shown("void f<float, (A)3>(int, void (*)(int))"), "f<float, (A)3>");
  EXPECT_EQ(shown("volta_sgemm_32x128_nn"), "volta_sgemm_32x128_nn");
  EXPECT_EQ(shown("(odd)"), "(odd)");
  EXPECT_EQ(shown(")"), ")");
  EXPECT_EQ(json_of(t)["rows"][0]["name"], ")");
}

TEST(Table, CellsOfSeveralLinesKeepTheirRowTogether) {
  Table t{"", {{"name", "Name", Unit::text}, {"at", "At", Unit::lines}}, {{"a", "f.py(1): f\ng.py(2): g"}, {"b", "x"}}, {}};
  EXPECT_EQ(text_of(t, style(0)), "Name  At\n----  ----------\na     f.py(1): f\n      g.py(2): g\nb     x\n");
  EXPECT_EQ(json_of(t)["rows"][0]["at"], "f.py(1): f;g.py(2): g");
}

TEST(Table, ColumnsThatDoNotFitAreNamed) {
  std::string text = text_of(sample(), style(40));
  EXPECT_EQ(text.find("Size  "), std::string::npos);
  EXPECT_NE(text.find("Too narrow for: TC, Size"), std::string::npos);
  EXPECT_NE(text.find("Calls"), std::string::npos);
}

TEST(Table, NamesCannotCommandTheTerminal) {
  Table t = sample();
  t.rows[0][0] = "evil\033[2Jname\nline";
  std::string text = text_of(t, style(100));
  EXPECT_EQ(text.find('\033'), std::string::npos);
  EXPECT_NE(text.find("evil\\u001b[2Jname line"), std::string::npos);
}

TEST(Table, ColourOnlyWhereWanted) {
  setenv("CLICOLOR_FORCE", "1", 1);
  unsetenv("NO_COLOR");
  EXPECT_TRUE(text_style(stdout).color);
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(text_style(stdout).color);
  unsetenv("NO_COLOR");
  unsetenv("CLICOLOR_FORCE");
  FILE* file = tmpfile();
  EXPECT_FALSE(text_style(file).color);
  fclose(file);
  EXPECT_NE(text_of(sample(), style(100, true)).find("\033[1;31m"), std::string::npos);
}

TEST(Table, RowsSortDownTextsUpUnknownLast) {
  Table t = sample();
  sort_rows(t, 5);
  EXPECT_EQ(std::get<i64>(t.rows[0][5]), 12);
  sort_rows(t, 3);
  EXPECT_EQ(std::get<i64>(t.rows[0][5]), 3);
  sort_rows(t, 0);
  EXPECT_EQ(std::get<i64>(t.rows[0][5]), 12);
}

TEST(Table, CsvFollowsRfc4180) {
  Table other = sample();
  other.columns = {{"name", "Name", Unit::text}, {"extra", "Extra", Unit::number}};
  other.rows = {{"x\ny", 0.5}};
  EXPECT_EQ(csv_of({{{"run", "a,b", "1"}, sample()}, {{"run", "c", "2"}, other}}),
            "run,worker,span,name,share,host_self_duration,size,tc,calls,extra\r\n"
            "run,\"a,b\",1,aten::mm,62.5,1234.567,1536,Yes,3,\r\n"
            "run,\"a,b\",1,\"a name, with \"\"quotes\"\"\",37.5,0.999,,No,12,\r\n"
            "run,c,2,\"x\ny\",,,,,,0.5\r\n");
}

TEST(Table, JsonSaysUnitsAndWhatIsUnknown) {
  Json json = json_of(sample());
  EXPECT_EQ(json["n_rows"], 2);
  EXPECT_EQ(json["columns"][2], (Json{{"key", "host_self_duration"}, {"title", "Self CPU"}, {"unit", "us"}}));
  EXPECT_EQ(json["rows"][0]["host_self_duration"], 1234.567);
  EXPECT_TRUE(json["rows"][1]["size"].is_null());
  Table broken = sample();
  broken.rows[0][0] = "\xff";
  EXPECT_NE(dump(json_of(broken)).find("\xef\xbf\xbd"), std::string::npos);
}

}  // namespace
}  // namespace tprof
