// Tables as text: column widths, cutting, colours.
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/printable.h"
#include "report/table.h"

namespace tprof {
namespace {

// A name is not cut shorter than a share of the line before other columns go, and never shorter than this.
constexpr size_t kLeastName = 16, kLeastShare = 4;
constexpr size_t kGap = 2;

bool continues(char c) { return (static_cast<u8>(c) & 0xc0) == 0x80; }

// In code points: what stands to the right of wide or combining characters may be a little off.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

// One line: what only parts words is a blank.
std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\t') c = ' ';
  return printable(text);
}

// The first or last `count` code points.
std::string head(const std::string& text, size_t count) {
  size_t at = 0;
  for (; at < text.size() && (continues(text[at]) || count > 0); at++)
    if (!continues(text[at])) count--;
  return text.substr(0, at);
}
std::string tail(const std::string& text, size_t count) {
  size_t at = text.size();
  while (at > 0 && count > 0)
    if (!continues(text[--at])) count--;
  return text.substr(at);
}

bool is_text(Unit unit) { return unit <= Unit::lines; }

// A kernel's parameters say little and are long.
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

// Words of a line that does not fit go on below it.
std::string wrapped(const std::string& line, size_t width) {
  std::string out;
  size_t used = 0;
  for (size_t at = 0; at < line.size();) {
    size_t end = std::min(line.find(' ', at), line.size());
    std::string word = line.substr(at, end - at);
    if (width && used && used + 1 + width_of(word) > width) {
      out += "\n  ";
      used = 2;
    } else if (at) {
      out += ' ';
      used++;
    }
    out += word;
    used += width_of(word);
    at = end + 1;
  }
  return out;
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  size_t at = 0;
  for (size_t end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    lines.push_back(text.substr(at, end - at));
  lines.push_back(text.substr(at));
  return lines;
}

// What is small is not shown as zero.
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

// What is shown, and how wide: decided on the texts of all cells.
struct Layout {
  std::vector<size_t> shown, width;  // columns; widths by column
  std::vector<std::string> left_out;

  size_t total() const {
    size_t sum = shown.empty() ? 0 : kGap * (shown.size() - 1);
    for (size_t c : shown) sum += width[c];
    return sum;
  }
};

Layout lay_out(const Table& table, const std::vector<std::vector<std::string>>& cells, size_t room) {
  Layout layout;
  for (size_t c = 0; c < table.columns.size(); c++) {
    size_t widest = width_of(table.columns[c].title);
    for (const auto& row : cells) widest = std::max(widest, width_of(row[c]));
    if (table.columns[c].leaves != kDataOnly) layout.shown.push_back(c);
    layout.width.push_back(widest);
  }
  if (!room) return layout;
  auto can_shrink = [&](size_t c) { return is_text(table.columns[c].unit); };
  size_t least = std::max(kLeastName, room / kLeastShare);
  for (;;) {
    // The widest text gives way first, so that texts which share a line end up equally wide.
    while (layout.total() > room) {
      auto widest = std::max_element(layout.shown.begin(), layout.shown.end(), [&](size_t a, size_t b) {
        return (can_shrink(a) ? layout.width[a] : 0) < (can_shrink(b) ? layout.width[b] : 0);
      });
      if (widest == layout.shown.end() || !can_shrink(*widest) || layout.width[*widest] <= least) break;
      layout.width[*widest]--;
    }
    if (layout.total() <= room) return layout;
    auto last = std::max_element(layout.shown.begin(), layout.shown.end(), [&](size_t a, size_t b) {
      return table.columns[a].leaves < table.columns[b].leaves;
    });
    if (table.columns[*last].leaves == 0) {
      if (least == kLeastName) return layout;
      least = kLeastName;
      continue;
    }
    layout.left_out.push_back(table.columns[*last].title);
    layout.shown.erase(last);
  }
}

// Of a name both ends tell, of a function its begin more than its template arguments, of a file in a stack its end.
std::string cut(const std::string& text, size_t width, bool utf8, Unit unit) {
  if (width_of(text) <= width) return text;
  const std::string dots = utf8 ? "…" : "...";
  size_t rest = width - std::min(width, width_of(dots));
  size_t end = unit == Unit::lines ? rest : unit == Unit::function ? rest / 4 : rest / 2;
  return head(text, rest - end) + dots + tail(text, end);
}

struct Paint {
  bool on;
  std::string operator()(const char* code, const std::string& text) const {
    return on ? std::string("\033[") + code + "m" + text + "\033[0m" : text;
  }
};

// The shares that matter stand out.
const char* heat(const Value& value, Unit unit) {
  auto* share = std::get_if<double>(&value);
  if (unit != Unit::percent || !share) return nullptr;
  return *share >= 25 ? "1;31" : *share >= 10 ? "33" : nullptr;
}

std::string without_end_blanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

std::string printed(const char* format, double value) {
  char text[64];
  snprintf(text, sizeof text, format, value);
  return text;
}

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
  if (size >= 1ull << 30) return printed("%.2f Gb", value / (1ull << 30));
  if (size >= 1 << 20) return printed("%.2f Mb", value / (1 << 20));
  if (size >= 1 << 10) return printed("%.2f Kb", value / (1 << 10));
  return std::to_string(bytes) + " b";
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
  // A row has as many lines as its tallest cell; of each line the row is known, for colours.
  std::vector<std::vector<std::string>> cells;
  std::vector<size_t> row_of;
  for (size_t r = 0; r < table.rows.size(); r++) {
    size_t first = cells.size();
    for (size_t c = 0; c < table.columns.size(); c++) {
      const Value& value = table.rows[r][c];
      auto* text = std::get_if<std::string>(&value);
      bool several = text && table.columns[c].unit == Unit::lines;
      std::vector<std::string> lines = several ? split_lines(*text) : std::vector<std::string>{""};
      if (cells.size() < first + lines.size()) {
        cells.resize(first + lines.size(), std::vector<std::string>(table.columns.size()));
        row_of.resize(cells.size(), r);
      }
      if (!several) lines[0] = cell_text(value, table.columns[c].unit);
      for (size_t i = 0; i < lines.size(); i++) cells[first + i][c] = one_line(lines[i]);
    }
  }
  Layout layout = lay_out(table, cells, style.width > 0 ? static_cast<size_t>(style.width) : 0);
  Paint paint{style.color};
  auto padded = [&](const std::string& text, size_t c) {
    std::string shown = cut(text, layout.width[c], style.utf8, table.columns[c].unit);
    std::string blanks(layout.width[c] - std::min(layout.width[c], width_of(shown)), ' ');
    return is_text(table.columns[c].unit) ? shown + blanks : blanks + shown;
  };
  auto line = [&](auto cell) {
    std::string out;
    for (size_t c : layout.shown) out += (out.empty() ? "" : std::string(kGap, ' ')) + cell(c);
    return without_end_blanks(out);
  };
  std::string out;
  if (!table.title.empty()) out += paint("1", one_line(table.title)) + "\n";
  if (!table.rows.empty()) {
    out += line([&](size_t c) { return paint("1", padded(table.columns[c].title, c)); });
    auto rule = [&](size_t c) {
      std::string text;
      for (size_t i = 0; i < layout.width[c]; i++) text += style.utf8 ? "─" : "-";
      return paint("2", text);
    };
    if (style.rules) out += line(rule);
    for (size_t r = 0; r < cells.size(); r++)
      out += line([&](size_t c) {
        std::string text = padded(cells[r][c], c);
        const char* code = heat(table.rows[row_of[r]][c], table.columns[c].unit);
        return code ? paint(code, text) : text;
      });
  }
  size_t room = style.width > 0 ? static_cast<size_t>(style.width) : 0;
  for (const std::string& note : table.footer) out += wrapped(one_line(note), room) + "\n";
  if (!layout.left_out.empty()) {
    std::string names;
    for (const std::string& name : layout.left_out) names += (names.empty() ? "" : ", ") + name;
    out += paint("2", wrapped("Too narrow for: " + names + " (--csv and --json have all)", room)) + "\n";
  }
  return out;
}

}  // namespace tprof
