// Tables: the results of an analysis, ready to be shown as text, CSV or JSON.
//
// A table is columns and rows of values, whatever they mean. Times are in nanoseconds and sizes in bytes. What is not
// known has no value: a dash in text, empty in CSV, null in JSON, never zero.
//
//   Table t{"Operators", {{"name", "Name", Unit::text}, {"host_self_duration", "Self CPU", Unit::time}}};
//   t.rows.push_back({"aten::mm", i64{1234}});
//   fputs(text_of(t, text_style(stdout)).c_str(), stdout);
#pragma once
#include <stdio.h>

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "analysis/basis/printed.h"
#include "base/types.h"
#include "json/json.h"
#include "model/trace.h"

namespace tprof {

// How a column's values are shown.
//            value            text           CSV, JSON
enum class Unit : u8 {
  text,      // string           as it is       as it is
  function,  // string           see below     as it is
  lines,     // string, by \n    line by line   ; for \n
  yes_no,    // i64 0, 1         Yes, No        "Yes", "No"
  count,     // i64              1234           1234
  time,      // i64 ns           1.234ms        1234.0 (us)
  bytes,     // i64              1.21 KB        1234
  percent,   // double, 0..100   12.34%         12.34
  number,    // double           12.34          12.34
  micros,    // i64 us           1234           1234
  gflop,     // double 10^9      1.23 MFLOP     0.00123
  tflops,    // double 10^12/s   1.23 GFLOP/s   0.00123
};

// Unit::function: text shows a C++ function without return type and parameters: f<float> for "void f<float>(int)".

using Value = std::variant<std::monostate, std::string, i64, double>;  // monostate: not known

constexpr int kDataOnly = -1;

// What a large share means, which decides its colour. fault: yellow, then red, and green for an improvement; neutral:
// bold.
enum class Sense : u8 { neutral, fault };

struct Column {
  std::string key;    // in JSON and CSV, and for sort_rows()
  std::string title;  // in text
  Unit unit = Unit::count;
  // If text does not fit, columns are left out from the highest number on; 0 is never left out, kDataOnly never shown.
  // A text that distinguishes rows is left out last.
  int leaves = 0;
  Sense sense = Sense::neutral;  // of shares
  bool tells_apart = false;      // this number distinguishes rows, as texts do
};

struct Table {
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Value>> rows;  // each as long as columns
  std::vector<std::string> footer;       // lines below the rows: sums, and what could not be known
  std::vector<Sense> senses = {};        // of shares, by row, where rows differ in it; empty: the column's
  bool tree = false;                     // rows form a tree: see report/tree_table.h

  int column(const std::string& key) const;  // -1: none
};

// Largest first (texts: smallest first), unknown values last, equal ones in their order. In a tree, sorts siblings.
void sort_rows(Table& table, size_t column);
bool comes_before(const Value& a, const Value& b, Unit unit);  // in that order
// Keeps the first `most` rows, says how many there are; 0: all.
void limit_rows(Table& table, size_t most);

// --- text

struct TextStyle {
  int width = 160;  // columns of the terminal, 0: as wide as it gets
  bool color = false;
  bool utf8 = false;  // may draw lines and ellipses that ASCII lacks
  bool terminal = false;
  bool rules = true;  // a line below the titles of columns
};

// The style for a stream: width from its terminal or COLUMNS; colour on terminals, NO_COLOR and CLICOLOR_FORCE obeyed.
TextStyle text_style(FILE* to);

// If the table is too wide, titles and sentences take several lines, stacks lines of their own below the row; names are
// cut so that different ones still look different; then columns are left out, which a line reports.
std::string text_of(const Table& table, const TextStyle& style);

// Not known if there is none.
Value mean(i64 sum, u64 count);
double rounded(double value, int digits);  // as Python rounds: to even

std::string time_text(i64 ns);                                             // 12.345us, 1.234ms, 1.234s
std::string flop_text(double flop);                                        // 12 FLOP, 1.23 MFLOP
std::string bytes_text(i64 bytes);                                         // 512 B, 1.50 KB, -2.00 MB
std::string cut_middle(const std::string& text, size_t width, bool utf8);  // width in code points, at least 5

// --- CSV and JSON

// Where a table comes from: as torch_tb_profiler names it.
struct Source {
  std::string run, worker, span;
  i32 rank = -1;     // in its job; -1 not known
  std::string node;  // the host; empty: not known

  std::string text() const { return rank < 0 ? worker : rank_text(rank, node); }
  std::string title() const { return run + "  " + text() + "  span " + span; }
};

struct WorkerTable {
  Source source;
  Table table;
};

// RFC 4180. Begins with run, worker and span; the columns of all tables, in order of appearance; last the rank, where
// one is known. Texts that a spreadsheet would take for formulas begin with a quote (').
std::string csv_of(const std::vector<WorkerTable>& tables);

// {"columns": [{key, title, unit}], "n_rows", "rows": [{key: value}], "notes": [line]}; unit is us, bytes, percent ...
Json json_of(const Table& table);
Json json_of(const Table& table, Json rows);  // with these for "rows"
Json json_of(const Value& value, Unit unit);
// How a document says its tables: as they are, or with their rows kept elsewhere (report/pack.h).
using TableJson = std::function<Json(const Table&)>;
Json json_of(const Source& source);  // {run, worker, span}, and rank where it is known

}  // namespace tprof
