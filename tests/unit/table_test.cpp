// Tables as text, CSV and JSON.
#include "report/table.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <set>

#include "json/json.h"
#include "report/fit.h"

namespace tprof {
namespace {

Table sample() {
  Table t;
  t.title = "Operators";
  t.columns = {{"name", "Name", Unit::text},
               {"share", "Self %", Unit::percent, 1},
               {"host_self_duration", "Self CPU", Unit::time},
               {"size", "Size", Unit::bytes, 2},
               {"tc", "TC", Unit::yes_no, 3},
               {"calls", "Calls", Unit::count}};
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
            "aten::mm               62.50%   1.235ms  1.50 KB  Yes      3\n"
            "a name, with \"quotes\"  37.50%   0.999us        -   No     12\n");
}

TEST(Table, TimesAndSizesTakeTorchsUnits) {
  EXPECT_EQ(time_text(0), "0.000us");
  EXPECT_EQ(time_text(999'999), "999.999us");
  EXPECT_EQ(time_text(1'000'000), "1.000ms");
  EXPECT_EQ(time_text(2'500'000'000), "2.500s");
  EXPECT_EQ(time_text(-1'500'000), "-1.500ms");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(-(2 << 20)), "-2.00 MB");
  EXPECT_EQ(bytes_text(3ll << 30), "3.00 GB");
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
  Table t{"",
          {{"name", "Name", Unit::text}, {"at", "At", Unit::lines}},
          {{"a", "f.py(1): f\ng.py(2): g"}, {"b", "x"}},
          {}};
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
  EXPECT_EQ(text_of(sample(), style(100)).find('\033'), std::string::npos);
}

TEST(Table, ALargeShareIsRedOnlyWhereItIsAFault) {
  Table t = sample();
  EXPECT_NE(text_of(t, style(100, true)).find("\033[1m62.50%"), std::string::npos);
  EXPECT_EQ(text_of(t, style(100, true)).find("\033[1;31m"), std::string::npos);
  t.columns[1].sense = Sense::fault;
  EXPECT_NE(text_of(t, style(100, true)).find("\033[1;31m62.50%"), std::string::npos);
  t.senses = {Sense::neutral, Sense::fault};
  std::string text = text_of(t, style(100, true));
  EXPECT_NE(text.find("\033[1m62.50%"), std::string::npos);
  EXPECT_NE(text.find("\033[1;31m37.50%"), std::string::npos);
  t.rows[0][1] = -50.0;  // a change for the better
  t.senses = {};
  EXPECT_NE(text_of(t, style(100, true)).find("\033[32m-50.00%"), std::string::npos);
}

TEST(Table, AnEmptyTableSaysNothingOfWidth) {
  Table t = sample();
  t.rows.clear();
  t.footer = {"nothing was recorded"};
  EXPECT_EQ(text_of(t, style(20)), "Operators\nnothing was recorded\n");
}

TEST(Table, ColumnsThatTellRowsApartStayWhenOthersGo) {
  Table t{"",
          {{"name", "Name", Unit::text},
           {"grid", "Grid", Unit::text, 9},
           {"block", "Block", Unit::text, 9},
           {"registers", "Registers", Unit::count, 8},
           {"total", "Total", Unit::time},
           {"mean", "Mean", Unit::time, 1}},
          {{"gemm", "[1, 1, 1]", "[32, 1, 1]", i64{30}, i64{1000000}, i64{500000}},
           {"gemm", "[2, 1, 1]", "[32, 1, 1]", i64{30}, i64{1000000}, i64{500000}}},
          {}};
  std::string text = text_of(t, style(26));
  EXPECT_NE(text.find("[1, 1, 1]"), std::string::npos) << text;
  EXPECT_NE(text.find("Too narrow for: Block,\n  Registers, Mean"), std::string::npos) << text;
  t.rows[1][1] = "[1, 1, 1]";
  t.rows[1][3] = i64{31};
  t.columns[3].tells_apart = true;
  text = text_of(t, style(26));
  EXPECT_EQ(text.find("[1, 1, 1]"), std::string::npos) << text;
  EXPECT_NE(text.find("  31  "), std::string::npos) << text;
}

TEST(Table, NamesThatDifferAreShownDifferently) {
  for (Unit unit : {Unit::text, Unit::function}) {
    Table t{"", {{"name", "Name", unit}}, {}, {}};
    const std::string begin = "void at::native::elementwise_kernel<128, ", end = ", at::detail::Array<char*, 2>>(int)";
    for (const char* what : {"AddFunctor<float>", "AddFunctor<double>", "MulFunctor<float>", "MulFunctor<c10::Half>"})
      t.rows.push_back({begin + what + end});
    t.rows.push_back({begin});
    if (unit == Unit::text)  // else a sentence
      for (auto& row : t.rows) std::erase(std::get<std::string>(row[0]), ' ');
    for (int width : {20, 24, 40, 60, 100})
      for (bool utf8 : {false, true}) {
        std::set<std::string> shown;
        std::vector<std::string> lines = lines_of(text_of(t, style(width, false, utf8)));
        for (size_t i = 2; i < lines.size(); i++) {
          shown.insert(lines[i]);
          EXPECT_LE(width_of(lines[i]), static_cast<size_t>(width));
        }
        EXPECT_EQ(shown.size(), t.rows.size()) << text_of(t, style(width, false, utf8));
      }
  }
}

TEST(Table, FunctionsThatDifferInParametersAloneKeepThem) {
  Table t{"", {{"name", "Name", Unit::function}}, {{"void f<2>(int)"}, {"void f<2>(long)"}, {"void g(int)"}}, {}};
  EXPECT_EQ(text_of(t, style(0)), "Name\n---------------\nvoid f<2>(int)\nvoid f<2>(long)\ng\n");
}

TEST(Table, SentencesAndTitlesTakeSeveralLines) {
  Table t{"",
          {{"name", "Launches", Unit::text}, {"calls", "Time of the calls", Unit::time}},
          {{"begun more than 100.000us later", i64{1000}}, {"calls", i64{2000}}},
          {}};
  EXPECT_EQ(text_of(t, style(29)),
            "                      Time of\n"
            "                          the\n"
            "Launches                calls\n"
            "--------------------  -------\n"
            "begun more than       1.000us\n"
            " 100.000us later\n"
            "calls                 2.000us\n");
}

TEST(Table, StacksStandBelowTheirRowsWhereTheyWouldBeTooNarrow) {
  Table t{"",
          {{"name", "Name", Unit::text}, {"total", "Total", Unit::time}, {"stack", "Source", Unit::lines}},
          {{"aten::convolution_backward", i64{1000},
            "very/long/path/of/a/file/of/the/model.py(10): forward\nmain.py(3): f"},
           {"aten::mm", i64{1000}, ""}},
          {}};
  EXPECT_EQ(text_of(t, style(44)),
            "Name                          Total\n"
            "    Source\n"
            "--------------------------  -------\n"
            "aten::convolution_backward  1.000us\n"
            "    ...f/a/file/of/the/model.py(10): forward\n"
            "    main.py(3): f\n"
            "aten::mm                    1.000us\n");
}

TEST(Fit, LinesAreWrappedBehindTheirOwnIndentation) {
  EXPECT_EQ(wrapped_lines("head of it\n  * one two three\n\n", 12), "head of it\n  * one two\n    three\n\n");
  EXPECT_EQ(wrapped_lines("\033[31mone\033[0m two", 7), "\033[31mone\033[0m two");
  EXPECT_EQ(wrapped("https://a.very.long/link is", 8, 0), "https://a.very.long/link\nis");
  EXPECT_EQ(wrapped("cores took 12.5 % of it", 15, 0), "cores took\n12.5 % of it");  // a number keeps its unit
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

TEST(Table, TextsOfCsvAreNoFormulas) {
  Table t{"",
          {{"name", "Name", Unit::text}, {"share", "Share", Unit::percent}, {"calls", "Calls", Unit::count}},
          {},
          {}};
  for (const char* name : {"=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "a=1", "'x", "=\"a\"", ""})
    t.rows.push_back({name, -0.5, i64{-3}});
  EXPECT_EQ(csv_of({{{"=run", "-worker", "1"}, t}}),
            "run,worker,span,name,share,calls\r\n"
            "'=run,'-worker,1,'=1+1,-0.5,-3\r\n"
            "'=run,'-worker,1,'+1,-0.5,-3\r\n"
            "'=run,'-worker,1,'-1,-0.5,-3\r\n"
            "'=run,'-worker,1,'@SUM(A1),-0.5,-3\r\n"
            "'=run,'-worker,1,'\tx,-0.5,-3\r\n"
            "'=run,'-worker,1,\"'\rx\",-0.5,-3\r\n"
            "'=run,'-worker,1,a=1,-0.5,-3\r\n"
            "'=run,'-worker,1,'x,-0.5,-3\r\n"
            "'=run,'-worker,1,\"'=\"\"a\"\"\",-0.5,-3\r\n"
            "'=run,'-worker,1,,-0.5,-3\r\n");
}

TEST(Table, JsonSaysUnitsAndWhatIsUnknown) {
  Json json = json_of(sample());
  EXPECT_EQ(json["n_rows"], 2);
  EXPECT_EQ(json["columns"][2], (Json{{"key", "host_self_duration"}, {"title", "Self CPU"}, {"unit", "us"}}));
  EXPECT_EQ(json["rows"][0]["host_self_duration"], 1234.567);
  EXPECT_TRUE(json["rows"][1]["size"].is_null());
  Table broken = sample();
  broken.rows[0][0] = "\xff";
  EXPECT_NE(json_indented(json_of(broken)).find("\xef\xbf\xbd"), std::string::npos);
}

}  // namespace
}  // namespace tprof
