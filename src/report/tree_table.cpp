#include "report/tree_table.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace tprof {
namespace {

constexpr i64 kDeep = 8;  // levels from which on one blank is enough

struct TreeColumns {
  explicit TreeColumns(const Table& table)
      : parent(size_t(table.column("parent"))), depth(parent + 1), left_out(parent + 2) {}
  const size_t parent, depth, left_out;
};

i64 number(const Value& value, i64 unknown) {
  const i64* whole = std::get_if<i64>(&value);
  return whole ? *whole : unknown;
}

// By row, the last list: of the top. Each in the order of rows.
std::vector<std::vector<size_t>> children_of(const Table& table) {
  TreeColumns c(table);
  std::vector<std::vector<size_t>> out(table.rows.size() + 1);
  for (size_t r = 0; r < table.rows.size(); r++)
    out[size_t(number(table.rows[r][c.parent], i64(table.rows.size())))].push_back(r);
  return out;
}

// Orders the rows by these lists. Rows in none of them are left out and counted at their nearest remaining ancestor.
void lay_out(Table& table, const std::vector<std::vector<size_t>>& children) {
  TreeColumns c(table);
  std::vector<std::vector<Value>> out;
  std::vector<i64> place(table.rows.size(), -1);
  std::vector<size_t> todo(children.back().rbegin(), children.back().rend());
  while (!todo.empty()) {
    size_t row = todo.back();
    todo.pop_back();
    place[row] = i64(out.size());
    out.push_back(std::move(table.rows[row]));
    if (i64 parent = number(out.back()[c.parent], -1); parent >= 0) out.back()[c.parent] = place[size_t(parent)];
    todo.insert(todo.end(), children[row].rbegin(), children[row].rend());
  }
  for (size_t r = 0; r < table.rows.size(); r++) {
    i64 up = i64(r);
    while (up >= 0 && place[size_t(up)] < 0) up = number(table.rows[size_t(up)][c.parent], -1);
    if (up < 0 || up == i64(r)) continue;
    Value& count = out[size_t(place[size_t(up)])][c.left_out];
    count = number(count, 0) + 1 + number(table.rows[r][c.left_out], 0);
  }
  table.rows = std::move(out);
}

// Which rows remain if they are taken in this order, each with its ancestors, until there are `most`; 0: all of them.
std::vector<bool> taken(const std::vector<size_t>& order, size_t all, size_t most,
                        const std::function<i64(size_t)>& parent_of) {
  std::vector<bool> stays(all);
  size_t kept = 0;
  for (size_t row : order) {
    std::vector<size_t> path;  // up to what is there already
    for (i64 up = i64(row); up >= 0 && !stays[size_t(up)]; up = parent_of(size_t(up))) path.push_back(size_t(up));
    if (most && kept + path.size() > most) continue;
    for (size_t each : path) stays[each] = true;
    kept += path.size();
  }
  return stays;
}

}  // namespace

HeaviestRows::HeaviestRows(const std::vector<i32>& parent_of, const std::vector<double>& weights, size_t most) {
  std::vector<size_t> order(weights.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return weights[a] > weights[b]; });
  std::vector<bool> stays = taken(order, order.size(), most, [&](size_t row) { return parent_of[row]; });
  std::vector<i32> place(weights.size(), -1);  // among those that stay, of a row or of what stays above it
  for (size_t row = 0; row < stays.size(); row++) {
    i32 above = parent_of[row] < 0 ? -1 : place[size_t(parent_of[row])];
    if (!stays[row]) {
      place[row] = above;
      if (above >= 0) left_out[size_t(above)]++;
      continue;
    }
    place[row] = i32(rows.size());
    rows.push_back(row);
    parents.push_back(above);
    left_out.push_back(0);
  }
}

std::string rows_left_out(size_t kept, size_t all, const std::string& hint) {
  return std::to_string(kept) + " of " + std::to_string(all) + " rows" + hint;
}

Table tree_table(Table table, const std::vector<i32>& parents, const std::vector<i64>& left_out) {
  table.tree = true;
  for (const char* key : {"parent", "depth", "left_out"}) table.columns.push_back({key, key, Unit::count, kDataOnly});
  TreeColumns c(table);
  for (size_t r = 0; r < parents.size(); r++) {
    std::vector<Value>& row = table.rows[r];
    row.resize(c.left_out + 1);
    if (parents[r] >= 0) row[c.parent] = i64(parents[r]);
    row[c.depth] = parents[r] < 0 ? i64{0} : number(table.rows[size_t(parents[r])][c.depth], 0) + 1;
    row[c.left_out] = left_out.empty() ? i64{0} : left_out[r];
  }
  lay_out(table, children_of(table));
  return table;
}

void sort_tree(Table& table, size_t column) {
  std::vector<std::vector<size_t>> children = children_of(table);
  for (std::vector<size_t>& list : children)
    std::stable_sort(list.begin(), list.end(), [&](size_t a, size_t b) {
      return comes_before(table.rows[a][column], table.rows[b][column], table.columns[column].unit);
    });
  lay_out(table, children);
}

std::vector<double> weights_of(const Table& table, int column) {
  std::vector<double> out;
  if (column < 0 || table.columns[size_t(column)].unit <= Unit::lines) return out;
  for (const auto& row : table.rows) {
    const Value& value = row[size_t(column)];
    const double* real = std::get_if<double>(&value);
    out.push_back(real ? *real : double(number(value, 0)));
  }
  return out;
}

void limit_tree(Table& table, size_t depth, size_t most, const std::vector<double>& weights, const std::string& hint) {
  TreeColumns c(table);
  size_t all = table.rows.size();
  auto depth_of = [&](size_t row) { return size_t(number(table.rows[row][c.depth], 0)); };
  std::vector<size_t> order(all);
  std::iota(order.begin(), order.end(), size_t{0});
  if (depth) std::erase_if(order, [&](size_t row) { return depth_of(row) >= depth; });
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return weights.empty() ? depth_of(a) < depth_of(b) : weights[a] > weights[b];
  });
  std::vector<bool> stays = taken(order, all, most, [&](size_t row) { return number(table.rows[row][c.parent], -1); });
  size_t kept = size_t(std::count(stays.begin(), stays.end(), true));
  if (kept == all) return;
  std::vector<std::vector<size_t>> children = children_of(table);
  for (std::vector<size_t>& list : children) std::erase_if(list, [&](size_t row) { return !stays[row]; });
  lay_out(table, children);
  table.footer.insert(table.footer.begin(), rows_left_out(kept, all, hint));
}

TreeIndent::TreeIndent(const Table& table) {
  if (!table.tree) return;
  depth_ = TreeColumns(table).depth;
  i64 deepest = 0;
  for (const auto& row : table.rows) deepest = std::max(deepest, number(row[depth_], 0));
  each_ = deepest > kDeep ? 1 : 2;
}

size_t TreeIndent::of(const std::vector<Value>& row) const {
  return each_ ? each_ * size_t(number(row[depth_], 0)) : 0;
}

}  // namespace tprof
