#include "report/layout.h"

#include <algorithm>
#include <set>

#include "report/fit.h"

namespace tprof {
namespace {

// Names are first cut to a share of the line; then other columns are left out, and names cut to this width. They become
// shorter only if rows would look the same otherwise.
constexpr size_t kLeastName = 16, kLeastShare = 4, kNarrowest = 10;
// A column of stacks that would be narrower than this is printed below its rows.
constexpr size_t kLeastStack = 40;

size_t longest(const Lines& lines) {
  size_t width = 0;
  for (const std::string& line : lines) width = std::max(width, width_of(line));
  return width;
}

}  // namespace

Layout::Layout(const Table& table, const Cells& cells, size_t room) : table_(table), cells_(cells) {
  for (size_t c = 0; c < table.columns.size(); c++) {
    if (table.columns[c].leaves != kDataOnly) shown.push_back(c);
    size_t widest = 0;
    for (const auto& row : cells) widest = std::max(widest, longest(row[c]));
    whole_.push_back(widest);
    width.push_back(std::max(widest, width_of(table.columns[c].title)));
  }
  if (room && !cells.empty() && total() > room) narrow(room);
}

size_t Layout::total() const {
  size_t sum = shown.empty() ? 0 : kGap * (shown.size() - 1);
  for (size_t c : shown) sum += width[c];
  return sum;
}

size_t Layout::least_of(size_t c, size_t least) const { return std::min(width[c], std::max(least, title_[c])); }

void Layout::narrow(size_t room) {
  for (size_t c = 0; c < width.size(); c++) {  // titles take several lines
    title_.push_back(longest(split_lines(wrapped(table_.columns[c].title, 1, 0))));
    width[c] = std::max(whole_[c], title_[c]);
  }
  size_t least = std::max(kLeastName, room / kLeastShare);
  put_stacks_below(least, room);
  for (;;) {
    shrink(least, room);
    if (total() <= room) return;
    if (leave_out(false)) continue;
    if (least > kNarrowest)
      least = least > kLeastName ? kLeastName : kNarrowest;
    else if (!leave_out(true))
      return;
  }
}

void Layout::put_stacks_below(size_t least, size_t room) {
  size_t sum = 0;
  for (size_t c : shown)
    if (table_.columns[c].leaves == 0) {
      bool stack = table_.columns[c].unit == Unit::lines;
      sum += kGap + (stack ? std::min(whole_[c], kLeastStack) : can_shrink(c) ? least_of(c, least) : width[c]);
    }
  if (sum <= room + kGap) return;
  for (size_t c : shown)
    if (table_.columns[c].unit == Unit::lines) below.push_back(c);
  for (size_t c : below) std::erase(shown, c);
}

// Shrinks the widest text first, so that the texts of a line end up equally wide.
void Layout::shrink(size_t least, size_t room) {
  while (total() > room) {
    auto spare = [&](size_t c) { return can_shrink(c) && width[c] > least_of(c, least) ? width[c] : 0; };
    auto widest = std::max_element(shown.begin(), shown.end(), [&](size_t a, size_t b) { return spare(a) < spare(b); });
    if (widest == shown.end() || !spare(*widest)) return;
    width[*widest]--;
  }
}

// Leaves out the next column; columns that distinguish rows only if `telling`. False: no more can be left out.
bool Layout::leave_out(bool telling) {
  auto last = shown.end();
  for (auto c = shown.begin(); c != shown.end(); c++) {
    int leaves = table_.columns[*c].leaves;
    if (leaves == 0 || (last != shown.end() && leaves <= table_.columns[*last].leaves)) continue;
    if (telling || !tells_apart(*c)) last = c;
  }
  if (last == shown.end()) return false;
  left_out.push_back(table_.columns[*last].title);
  shown.erase(last);
  return true;
}

// Whether some rows would look the same without this column.
bool Layout::tells_apart(size_t column) const {
  auto names = [&](size_t c) { return is_text(table_.columns[c].unit) || table_.columns[c].tells_apart; };
  if (!names(column)) return false;
  std::set<std::string> with, without;
  for (const auto& row : cells_) {
    std::string key;
    for (const auto* columns : {&shown, &below})
      for (size_t c : *columns)
        if (c != column && names(c))
          for (const std::string& line : row[c]) key += line + "\n";
    without.insert(key);
    with.insert(key + row[column][0]);
  }
  return with.size() > without.size();
}

}  // namespace tprof
