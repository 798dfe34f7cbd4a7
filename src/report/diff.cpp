#include "report/diff.h"

#include <cmath>

namespace tprof {
namespace {

// diff() gives no interval to what is too small to matter.
bool is_change(const Diff& diff, const DiffRow& row) {
  if (row.in_a == row.in_b && std::fabs(row.ratio()) <= kSameRatio) return false;
  return !diff.step.interval.known || row.changed;
}

Value ns(double value) { return i64(std::llround(value)); }

std::vector<Value> cells(const DiffRow& row) {
  auto side = [](bool in, Value value) { return in ? value : Value(); };
  std::string where = row.in_a == row.in_b ? "" : row.in_a ? "only in A" : "only in B";
  return {row.name,
          side(row.in_a, ns(row.a_ns)),
          side(row.in_b, ns(row.b_ns)),
          ns(row.delta_ns()),
          row.a_ns > 0 ? Value(row.ratio() * 100) : Value(),
          row.interval.known ? ns(row.interval.low) : Value(),
          row.interval.known ? ns(row.interval.high) : Value(),
          side(row.in_a, row.a_calls),
          side(row.in_b, row.b_calls),
          where};
}

}  // namespace

Table diff_table(const Diff& diff, DiffBy by, size_t most) {
  Table out{std::string(diff_by_text(by)) + ", per step",
            {{"name", diff_by_text(by), Unit::text},
             {"a", "A", Unit::time},
             {"b", "B", Unit::time},
             {"delta", "Change", Unit::time},
             {"change_percent", "Change %", Unit::percent, 0, Sense::fault},
             {"low", "95 % from", Unit::time, 2},
             {"high", "to", Unit::time, 2},
             {"a_calls", "Calls A", Unit::number, 3},
             {"b_calls", "Calls B", Unit::number, 3},
             {"where", "", Unit::text, 1}}};
  size_t left_out = 0;
  for (const DiffRow& row : diff.rows) {
    if (row.by != by) continue;
    if (most && (!is_change(diff, row) || out.rows.size() >= most))
      left_out++;
    else
      out.rows.push_back(cells(row));
  }
  if (left_out) out.footer.push_back(std::to_string(left_out) + " more changed less, or no more than noise");
  return out;
}

Table diff_machine_table(const Diff& diff) {
  Table out{"Machine, means over runs",
            {{"machine", "Machine", Unit::text}, {"a", "A", Unit::number}, {"b", "B", Unit::number},
             {"apart", "Apart", Unit::yes_no, 1}}};
  for (const MachineDiff& d : diff.machine)
    out.rows.push_back({std::string(kMachineRows[d.figure].text), d.a, d.b, i64(d.apart)});
  return out;
}

namespace {

Json row_json(const DiffRow& row) {
  auto side = [](bool in, double value) { return in ? Json(value) : Json(); };
  return {{"by", diff_by_word(row.by)},
          {"name", row.name},
          {"a_us", side(row.in_a, row.a_ns / 1e3)},
          {"b_us", side(row.in_b, row.b_ns / 1e3)},
          {"delta_us", row.delta_ns() / 1e3},
          {"change_percent", row.a_ns > 0 ? Json(row.ratio() * 100) : Json()},
          {"low_us", side(row.interval.known, row.interval.low / 1e3)},
          {"high_us", side(row.interval.known, row.interval.high / 1e3)},
          {"smallest_us", side(row.interval.known, row.interval.smallest / 1e3)},
          {"changed", row.interval.known ? Json(row.changed) : Json()},
          {"a_calls", side(row.in_a, row.a_calls)},
          {"b_calls", side(row.in_b, row.b_calls)}};
}

// Of the rows in JSON, as tables have them.
Json row_columns() {
  static constexpr const char* kColumns[][3] = {
      {"by", "Kind", "text"}, {"name", "Name", "text"}, {"a_us", "A", "us"}, {"b_us", "B", "us"},
      {"delta_us", "Change", "us"}, {"change_percent", "Change %", "percent"}, {"low_us", "95 % from", "us"},
      {"high_us", "to", "us"}, {"smallest_us", "Can be found from", "us"}, {"changed", "More than noise", "yes/no"},
      {"a_calls", "Calls A", "number"}, {"b_calls", "Calls B", "number"}};
  Json out = Json::array();
  for (auto& [key, title, unit] : kColumns) out.push_back({{"key", key}, {"title", title}, {"unit", unit}});
  return out;
}

}  // namespace

Json diff_json(const Diff& diff) {
  static constexpr const char* kVerdicts[] = {"unknown", "noise", "changed", "second_changed"};
  Json out = {{"schema", 1},
              {"story", diff.story()},
              {"verdict", kVerdicts[size_t(diff.verdict())]},
              {"remarks", diff.remarks},
              {"sample", diff.of_runs ? "runs" : "steps"},
              {"runs", {{"a", diff.a_runs}, {"b", diff.b_runs}}},
              {"steps", {{"a", diff.a_steps}, {"b", diff.b_steps}}},
              {"step", row_json(diff.step)},
              {"second", diff.asks == Diff::Second::none ? Json() : row_json(diff.second)},
              {"alike", Json::array()},
              {"machine", Json::array()},
              {"columns", row_columns()},
              {"n_rows", diff.rows.size()},
              {"rows", Json::array()},
              {"notes", diff.notes}};
  for (const Alike& all : diff.alike)
    out["alike"].push_back({{"by", diff_by_word(all.by)},
                            {"change_percent", all.ratio * 100},
                            {"low_percent", all.low * 100},
                            {"high_percent", all.high * 100}});
  for (const MachineDiff& d : diff.machine)
    out["machine"].push_back({{"figure", kMachineRows[d.figure].key},
                              {"title", kMachineRows[d.figure].text},
                              {"a", d.a},
                              {"b", d.b},
                              {"apart", d.apart}});
  for (const DiffRow& row : diff.rows) out["rows"].push_back(row_json(row));
  return out;
}

}  // namespace tprof
