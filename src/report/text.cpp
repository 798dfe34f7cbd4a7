// Tables as text: column widths, cutting, colours.
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "report/table.h"

namespace tprof {
namespace {

constexpr size_t kLeastName = 16;  // a name column is not cut shorter than this before other columns go
constexpr size_t kGap = 2;

bool continues(char c) { return (static_cast<u8>(c) & 0xc0) == 0x80; }

// In code points: what stands to the right of wide or combining characters may be a little off.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

// A name may hold anything, also what makes a terminal do things.
std::string harmless(std::string text) {
  for (char& c : text)
    if (static_cast<u8>(c) < 0x20 || c == 0x7f) c = c == '\n' || c == '\t' ? ' ' : '?';
  return text;
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

std::string printed(const char* format, double value) {
  char text[64];
  snprintf(text, sizeof text, format, value);
  return text;
}

std::string cell_text(const Value& value, Unit unit) {
  if (auto* text = std::get_if<std::string>(&value)) return harmless(*text);
  if (auto* number = std::get_if<double>(&value))
    return !std::isfinite(*number) ? "-" : printed(unit == Unit::percent ? "%.2f%%" : "%.2f", *number);
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
    layout.shown.push_back(c);
    layout.width.push_back(widest);
  }
  if (!room) return layout;
  auto is_text = [&](size_t c) { return table.columns[c].unit == Unit::text; };
  for (;;) {
    // The widest text gives way first, so that texts which share a line end up equally wide.
    while (layout.total() > room) {
      auto widest = std::max_element(layout.shown.begin(), layout.shown.end(), [&](size_t a, size_t b) {
        return (is_text(a) ? layout.width[a] : 0) < (is_text(b) ? layout.width[b] : 0);
      });
      if (widest == layout.shown.end() || !is_text(*widest) || layout.width[*widest] <= kLeastName) break;
      layout.width[*widest]--;
    }
    if (layout.total() <= room) return layout;
    auto last = std::max_element(layout.shown.begin(), layout.shown.end(), [&](size_t a, size_t b) {
      return table.columns[a].leaves < table.columns[b].leaves;
    });
    if (table.columns[*last].leaves == 0) return layout;
    layout.left_out.push_back(table.columns[*last].title);
    layout.shown.erase(last);
  }
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

std::string time_text(i64 ns) {
  double us = static_cast<double>(ns) / 1e3;
  double size = std::abs(us);
  return size >= 1e6 ? printed("%.3fs", us / 1e6) : size >= 1e3 ? printed("%.3fms", us / 1e3) : printed("%.3fus", us);
}

std::string bytes_text(i64 bytes) {
  double value = static_cast<double>(bytes), size = std::abs(value);
  if (size >= 1ull << 30) return printed("%.2f Gb", value / (1ull << 30));
  if (size >= 1 << 20) return printed("%.2f Mb", value / (1 << 20));
  if (size >= 1 << 10) return printed("%.2f Kb", value / (1 << 10));
  return std::to_string(bytes) + " b";
}

std::string cut_middle(const std::string& text, size_t width, bool utf8) {
  if (width_of(text) <= width) return text;
  const std::string dots = utf8 ? "…" : "...";
  size_t rest = width - std::min(width, width_of(dots));
  return head(text, rest - rest / 2) + dots + tail(text, rest / 2);
}

TextStyle text_style(FILE* to) {
  TextStyle style;
  auto set = [](const char* name) {
    const char* value = getenv(name);
    return value && *value ? value : nullptr;
  };
  const char* forced = set("CLICOLOR_FORCE");
  bool force = forced && strcmp(forced, "0") != 0;
  style.color = !set("NO_COLOR") && (force || isatty(fileno(to)));
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
  std::vector<std::vector<std::string>> cells;
  for (const auto& row : table.rows) {
    cells.emplace_back();
    for (size_t c = 0; c < row.size(); c++) cells.back().push_back(cell_text(row[c], table.columns[c].unit));
  }
  Layout layout = lay_out(table, cells, style.width > 0 ? static_cast<size_t>(style.width) : 0);
  Paint paint{style.color};
  auto padded = [&](const std::string& text, size_t c) {
    std::string shown = cut_middle(text, layout.width[c], style.utf8);
    std::string blanks(layout.width[c] - std::min(layout.width[c], width_of(shown)), ' ');
    return table.columns[c].unit == Unit::text ? shown + blanks : blanks + shown;
  };
  auto line = [&](auto cell) {
    std::string out;
    for (size_t c : layout.shown) out += (out.empty() ? "" : std::string(kGap, ' ')) + cell(c);
    return without_end_blanks(out);
  };
  std::string out;
  if (!table.title.empty()) out += paint("1", harmless(table.title)) + "\n";
  if (!table.rows.empty()) {
    out += line([&](size_t c) { return paint("1", padded(table.columns[c].title, c)); });
    out += line([&](size_t c) {
      std::string rule;
      for (size_t i = 0; i < layout.width[c]; i++) rule += style.utf8 ? "─" : "-";
      return paint("2", rule);
    });
    for (size_t r = 0; r < cells.size(); r++)
      out += line([&](size_t c) {
        std::string text = padded(cells[r][c], c);
        const char* code = heat(table.rows[r][c], table.columns[c].unit);
        return code ? paint(code, text) : text;
      });
  }
  for (const std::string& note : table.footer) out += harmless(note) + "\n";
  if (!layout.left_out.empty()) {
    std::string names;
    for (const std::string& name : layout.left_out) names += (names.empty() ? "" : ", ") + name;
    out += paint("2", "Too narrow for: " + names + " (--csv and --json have all)") + "\n";
  }
  return out;
}

}  // namespace tprof
