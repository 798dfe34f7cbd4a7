// Tables as text: cells, rows, colours. How wide columns are is decided in layout.h, texts are made to fit in fit.h.
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "base/printable.h"
#include "report/fit.h"
#include "report/layout.h"
#include "report/tree_table.h"

namespace tprof {
namespace {

constexpr size_t kMaxFolds = 3;  // lines of a sentence in a cell
constexpr size_t kBelow = 4;     // blanks before a line below its row

// As one line: tabs and line breaks become blanks.
std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\t') c = ' ';
  return printable(text);
}

// Removes the parameters of a kernel, which are long and say little.
std::string without_parameters(const std::string& function) {
  constexpr std::string_view kVoid = "void ";
  size_t begin = function.starts_with(kVoid) ? kVoid.size() : 0;
  size_t open = function.size();
  int inside = 0;  // parameters may have parentheses of their own
  if (!function.ends_with(')')) return function.substr(begin);
  while (open > begin && (inside > 0 || open == function.size())) {
    char c = function[--open];
    inside += c == ')' ? 1 : c == '(' ? -1 : 0;
  }
  return open > begin ? function.substr(begin, open - begin) : function;
}

// Small values are not shown as zero.
const char* number_format(double number, Unit unit) {
  if (unit == Unit::percent) return "%.2f%%";
  return number != 0 && std::abs(number) < 0.005 ? "%.1e" : "%.2f";
}

std::string cell_text(const Value& value, Unit unit) {
  if (auto* text = std::get_if<std::string>(&value)) return unit == Unit::function ? without_parameters(*text) : *text;
  if (auto* number = std::get_if<double>(&value); number && std::isfinite(*number)) {
    if (unit == Unit::gflop) return flop_text(*number * 1e9);
    if (unit == Unit::tflops) return flop_text(*number * 1e12) + "/s";
  }
  if (auto* number = std::get_if<double>(&value))
    return !std::isfinite(*number) ? "-" : printed(number_format(*number, unit), *number);
  if (auto* whole = std::get_if<i64>(&value)) {
    if (unit == Unit::time) return time_text(*whole);
    if (unit == Unit::bytes) return bytes_text(*whole);
    if (unit == Unit::yes_no) return *whole ? "Yes" : "No";
    return std::to_string(*whole);
  }
  return "-";
}

// The whole text of each cell. Functions that differ only in their parameters keep them.
Cells cells_of(const Table& table) {
  std::map<std::string, std::set<std::string>> functions;  // by what is shown of them
  for (const auto& row : table.rows)
    for (size_t c = 0; c < row.size(); c++)
      if (auto* text = std::get_if<std::string>(&row[c]); text && table.columns[c].unit == Unit::function)
        functions[without_parameters(*text)].insert(*text);
  Cells cells;
  TreeIndent indent(table);
  for (const auto& row : table.rows) {
    cells.emplace_back();
    for (size_t c = 0; c < row.size(); c++) {
      Unit unit = table.columns[c].unit;
      std::string text = cell_text(row[c], unit);
      if (unit == Unit::function && functions[text].size() > 1) text = std::get<std::string>(row[c]);
      Lines lines = unit == Unit::lines ? split_lines(text) : Lines{text};
      for (std::string& line : lines) line = one_line(line);
      if (c == 0) lines[0].insert(0, indent.of(row), ' ');
      cells.back().push_back(std::move(lines));
    }
  }
  return cells;
}

// The lines of a column's cells, as wide as it is.
class Fitted {
 public:
  Fitted(const Cells& cells, size_t column, size_t width, bool utf8, Unit unit, bool folds)
      : width_(width), folds_(folds) {
    std::set<std::string> wide;
    for (const auto& row : cells)
      for (const std::string& line : row[column])
        if (width_of(line) > width && lines_of(line).empty()) wide.insert(line);
    cut_ = cut_apart(wide, width, utf8, unit);
  }
  Lines operator()(const Lines& cell) const {
    Lines out;
    for (const std::string& line : cell) {
      if (auto found = cut_.find(line); found != cut_.end())
        out.push_back(found->second);
      else if (width_of(line) <= width_)
        out.push_back(line);
      else
        for (const std::string& part : lines_of(line)) out.push_back(part);
    }
    return out;
  }

 private:
  Lines lines_of(const std::string& sentence) const { return folds_ ? folded(sentence, width_, kMaxFolds) : Lines(); }
  size_t width_;
  bool folds_;
  std::map<std::string, std::string> cut_;
};

struct Paint {
  bool on;
  std::string operator()(const char* code, const std::string& text) const {
    return on ? std::string("\033[") + code + "m" + text + "\033[0m" : text;
  }
};

const char* heat(const Value& value, Unit unit, Sense sense) {
  auto* share = std::get_if<double>(&value);
  if (unit != Unit::percent || !share) return nullptr;
  if (sense == Sense::neutral) return *share >= 25 ? "1" : nullptr;
  return *share >= 25 ? "1;31" : *share >= 10 ? "33" : *share <= -10 ? "32" : nullptr;
}

std::string without_end_blanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

std::string time_text(i64 ns) {
  double us = static_cast<double>(ns) / 1e3;
  double size = std::abs(us);
  return size >= 1e6 ? printed("%.3fs", us / 1e6) : size >= 1e3 ? printed("%.3fms", us / 1e3) : printed("%.3fus", us);
}

std::string flop_text(double flop) {
  static constexpr const char* kFormats[] = {"%.0f FLOP",  "%.2f kFLOP", "%.2f MFLOP", "%.2f GFLOP",
                                             "%.2f TFLOP", "%.2f PFLOP", "%.2f EFLOP"};
  size_t at = 0;
  for (; std::abs(flop) >= 999.995 && at + 1 < std::size(kFormats); at++) flop /= 1000;
  return printed(kFormats[at], flop);
}

std::string bytes_text(i64 bytes) {
  double value = static_cast<double>(bytes), size = std::abs(value);
  if (size >= 1ull << 30) return printed("%.2f GB", value / (1ull << 30));
  if (size >= 1 << 20) return printed("%.2f MB", value / (1 << 20));
  if (size >= 1 << 10) return printed("%.2f KB", value / (1 << 10));
  return std::to_string(bytes) + " B";
}

std::string cut_middle(const std::string& text, size_t width, bool utf8) { return cut(text, width, utf8, Unit::text); }

TextStyle text_style(FILE* to) {
  TextStyle style;
  auto set = [](const char* name) {
    const char* value = getenv(name);
    return value && *value ? value : nullptr;
  };
  const char* forced = set("CLICOLOR_FORCE");
  bool force = forced && strcmp(forced, "0") != 0;
  style.terminal = isatty(fileno(to));
  style.color = !set("NO_COLOR") && (force || style.terminal);
  winsize size{};
  const char* columns = set("COLUMNS");
  if (int wanted = columns ? atoi(columns) : 0; wanted > 0)
    style.width = wanted;
  else if (ioctl(fileno(to), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    style.width = size.ws_col;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const char* locale = set(name)) {
      style.utf8 = strcasestr(locale, "utf-8") || strcasestr(locale, "utf8");
      break;
    }
  return style;
}

std::string text_of(const Table& table, const TextStyle& style) {
  size_t room = style.width > 0 ? size_t(style.width) : 0;
  Cells cells = cells_of(table);
  Layout layout(table, cells, room);
  Paint paint{style.color};
  std::string out;
  if (!table.title.empty()) out += paint("1", wrapped(one_line(table.title), room)) + "\n";
  auto padded = [&](const std::string& text, size_t c) {
    std::string blanks(layout.width[c] - std::min(layout.width[c], width_of(text)), ' ');
    return is_text(table.columns[c].unit) ? text + blanks : blanks + text;
  };
  // A row has as many lines as its tallest cell; titles stand at the last of theirs.
  auto put_row = [&](const std::vector<Lines>& row, bool at_end, auto code) {
    size_t height = 1;
    for (size_t c : layout.shown) height = std::max(height, row[c].size());
    for (size_t i = 0; i < height; i++) {
      std::string line;
      for (size_t c : layout.shown) {
        size_t skipped = at_end ? height - row[c].size() : 0;
        bool has = i >= skipped && i - skipped < row[c].size();
        std::string text = padded(has ? row[c][i - skipped] : "", c);
        const char* color = has ? code(c) : nullptr;
        line += (line.empty() ? "" : std::string(Layout::kGap, ' ')) + (color ? paint(color, text) : text);
      }
      out += without_end_blanks(line);
    }
  };
  if (!table.rows.empty()) {
    std::vector<Lines> titles(table.columns.size()), rules(titles);
    std::vector<Fitted> fitted;
    for (size_t c = 0; c < table.columns.size(); c++) {
      titles[c] = split_lines(wrapped(table.columns[c].title, layout.width[c], 0));
      std::string rule;
      for (size_t i = 0; i < layout.width[c]; i++) rule += style.utf8 ? "─" : "-";
      rules[c] = {rule};
      Unit unit = table.columns[c].unit;
      bool folds = unit == Unit::text && !(table.tree && c == 0);  // a name that is indented stays on its line
      fitted.emplace_back(cells, c, layout.width[c], style.utf8, unit, folds);
    }
    put_row(titles, true, [](size_t) { return "1"; });
    for (size_t c : layout.below) out += std::string(kBelow, ' ') + paint("1", table.columns[c].title) + "\n";
    if (style.rules) put_row(rules, false, [](size_t) { return "2"; });
    for (size_t r = 0; r < cells.size(); r++) {
      std::vector<Lines> row(table.columns.size());
      for (size_t c : layout.shown) row[c] = fitted[c](cells[r][c]);
      put_row(row, false, [&](size_t c) {
        const Column& column = table.columns[c];
        return heat(table.rows[r][c], column.unit, table.senses.empty() ? column.sense : table.senses[r]);
      });
      for (size_t c : layout.below)
        for (const std::string& line : cells[r][c])
          if (!line.empty() && line != "-")
            out += std::string(kBelow, ' ') + cut(line, room - kBelow, style.utf8, Unit::lines) + "\n";
    }
  }
  for (const std::string& note : table.footer) out += wrapped(one_line(note), room) + "\n";
  if (!layout.left_out.empty()) {
    std::string names;
    for (const std::string& name : layout.left_out) names += (names.empty() ? "" : ", ") + name;
    out += paint("2", wrapped("Too narrow for: " + names + " (--json has all)", room)) + "\n";
  }
  return out;
}

}  // namespace tprof
