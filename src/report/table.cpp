#include "report/table.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "report/tree_table.h"

namespace tprof {
namespace {

const char* unit_name(Unit unit) {
  switch (unit) {
    case Unit::text:
    case Unit::function:
    case Unit::lines: return "text";
    case Unit::yes_no: return "yes/no";
    case Unit::count: return "count";
    case Unit::bytes: return "bytes";
    case Unit::percent: return "percent";
    case Unit::number:
    case Unit::gflop:
    case Unit::tflops: return "number";
    case Unit::time:
    case Unit::micros: return "us";
  }
  return "";
}

// A spreadsheet takes a cell that begins so for a formula, and runs it; behind a quote it is text.
constexpr std::string_view kMakesFormula = "=+-@\t\r";

std::string csv_field(const Value& value, Unit unit) {
  Json json = json_of(value, unit);
  if (json.is_null()) return "";
  if (!json.is_string()) return json_line(json);
  std::string text = json.text();
  if (!text.empty() && kMakesFormula.find(text[0]) != kMakesFormula.npos) text.insert(0, "'");
  if (text.find_first_of("\",\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

Json json_of(const Value& value, Unit unit) {
  if (auto* text = std::get_if<std::string>(&value)) {
    std::string out = *text;
    if (unit == Unit::lines) std::replace(out.begin(), out.end(), '\n', ';');
    return out;
  }
  if (auto* number = std::get_if<double>(&value)) return std::isfinite(*number) ? Json(*number) : Json();
  if (auto* whole = std::get_if<i64>(&value)) {
    if (unit == Unit::time) return static_cast<double>(*whole) / 1e3;
    if (unit == Unit::yes_no) return *whole ? "Yes" : "No";
    return *whole;
  }
  return nullptr;
}

int Table::column(const std::string& key) const {
  for (size_t i = 0; i < columns.size(); i++)
    if (columns[i].key == key) return static_cast<int>(i);
  return -1;
}

Value mean(i64 sum, u64 count) { return count ? Value(i64(std::llround(double(sum) / double(count)))) : Value(); }

double rounded(double value, int digits) {
  double scale = std::pow(10, digits);
  return std::nearbyint(value * scale) / scale;
}

bool comes_before(const Value& a, const Value& b, Unit unit) {
  bool known_a = a.index() != 0, known_b = b.index() != 0;
  if (!known_a || !known_b) return known_a && !known_b;
  return unit <= Unit::lines ? a < b : b < a;
}

void sort_rows(Table& table, size_t column) {
  if (table.tree) return sort_tree(table, column);
  std::stable_sort(table.rows.begin(), table.rows.end(), [&](const auto& a, const auto& b) {
    return comes_before(a[column], b[column], table.columns[column].unit);
  });
}

void limit_rows(Table& table, size_t most) {
  if (!most || table.rows.size() <= most) return;
  std::string line = std::to_string(most) + " of " + std::to_string(table.rows.size()) + " rows (--limit 0 shows all)";
  table.footer.insert(table.footer.begin(), line);
  table.rows.resize(most);
}

std::string csv_of(const std::vector<WorkerTable>& tables) {
  std::vector<Column> all;
  for (const WorkerTable& t : tables)
    for (const Column& column : t.table.columns)
      if (std::none_of(all.begin(), all.end(), [&](const Column& c) { return c.key == column.key; }))
        all.push_back(column);
  std::string out = "run,worker,span";
  for (const Column& column : all) out += "," + csv_field(column.key, Unit::text);
  bool ranks = std::any_of(tables.begin(), tables.end(), [](const WorkerTable& t) { return t.source.rank >= 0; });
  bool taken = std::any_of(all.begin(), all.end(), [](const Column& column) { return column.key == "rank"; });
  ranks &= !taken;
  out += ranks ? ",rank\r\n" : "\r\n";
  for (const auto& [source, table] : tables) {
    std::string lead, last;
    if (ranks) last = "," + (source.rank < 0 ? "" : std::to_string(source.rank));
    for (const std::string& word : {source.run, source.worker, source.span})
      lead += (lead.empty() ? "" : ",") + csv_field(word, Unit::text);
    for (const auto& row : table.rows) {
      out += lead;
      for (const Column& column : all) {
        int at = table.column(column.key);
        out += "," + (at < 0 ? "" : csv_field(row[size_t(at)], column.unit));
      }
      out += last + "\r\n";
    }
  }
  return out;
}

Json json_of(const Table& table, Json rows) {
  Json out = {{"columns", Json::array()},
              {"n_rows", table.rows.size()},
              {"rows", std::move(rows)},
              {"notes", table.footer}};
  for (const Column& c : table.columns)
    out["columns"].push_back({{"key", c.key}, {"title", c.title}, {"unit", unit_name(c.unit)}});
  return out;
}

Json json_of(const Table& table) {
  Json rows = Json::array();
  for (const auto& row : table.rows) {
    Json object = Json::object();
    for (size_t i = 0; i < row.size(); i++) object[table.columns[i].key] = json_of(row[i], table.columns[i].unit);
    rows.push_back(std::move(object));
  }
  return json_of(table, std::move(rows));
}

Json json_of(const Source& source) {
  Json out = {{"run", source.run}, {"worker", source.worker}, {"span", source.span}};
  if (source.rank >= 0) {
    out["rank"] = source.rank;
    if (!source.node.empty()) out["node"] = source.node;
  }
  return out;
}

}  // namespace tprof
