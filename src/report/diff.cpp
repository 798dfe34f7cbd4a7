#include "report/diff.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "report/call_tables.h"
#include "report/columns.h"
#include "report/tree_table.h"

namespace tprof {
namespace {

// diff() computes no interval for changes that are too small to matter.
bool is_change(const Diff& diff, const DiffRow& row) {
  if (row.in_a == row.in_b && std::fabs(row.delta_ns()) <= kSameRatio * std::max(row.a_ns, row.b_ns)) return false;
  return !diff.step.interval.known || row.changed;
}

Value ns(double value) { return i64(std::llround(value)); }

std::string where_text(bool in_a, bool in_b) { return in_a == in_b ? "" : in_a ? "only in A" : "only in B"; }

std::vector<Value> cells(const DiffRow& row) {
  auto side = [](bool in, Value value) { return in ? value : Value(); };
  return {row.name,
          side(row.in_a, ns(row.a_ns)),
          side(row.in_b, ns(row.b_ns)),
          ns(row.delta_ns()),
          row.a_ns > 0 ? Value(row.ratio() * 100) : Value(),
          row.interval.known ? ns(row.interval.low) : Value(),
          row.interval.known ? ns(row.interval.high) : Value(),
          side(row.in_a, row.a_calls),
          side(row.in_b, row.b_calls),
          where_text(row.in_a, row.in_b)};
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
            {{"machine", "Machine", Unit::text},
             {"a", "A", Unit::number},
             {"b", "B", Unit::number},
             {"apart", "Apart", Unit::yes_no, 1}}};
  for (const MachineDiff& d : diff.machine)
    out.rows.push_back({std::string(kMachineRows[d.figure].text), d.a, d.b, i64(d.apart)});
  return out;
}

namespace {

// The columns of one figure: A, B, the change, and the change as a share of A.
template <class Row>
void add_sides(Columns<Row>& c, const std::string& key, const std::string& title, Unit unit, int leaves, bool a_known,
               bool b_known, double CallCosts::*figure) {
  auto shown = [unit](double value) { return unit == Unit::time ? ns(value) : Value(value); };
  auto of = [=](bool known, bool in, const CallCosts& costs) { return known && in ? shown(costs.*figure) : Value(); };
  int first = leaves == 0 ? 0 : kDataOnly;
  c.add(("a_" + key), (title + " A"), unit, leaves, [=](auto& r) { return of(a_known, r.in_a, r.a); });
  c.add(("b_" + key), (title + " B"), unit, leaves, [=](auto& r) { return of(b_known, r.in_b, r.b); });
  c.add(("delta_" + key), "Change", unit, first,
        [=](auto& r) { return a_known && b_known ? shown(r.b.*figure - r.a.*figure) : Value(); });
  c.add(("percent_" + key), "Change %", Unit::percent, first, [=](auto& r) {
     double whole = r.a.*figure;
     return a_known && b_known && whole > 0 ? Value(100 * (r.b.*figure - whole) / whole) : Value();
   }).sense = Sense::fault;
}

// Calls, and durations on the host and the GPU, self and total.
template <class Row>
void add_costs(Columns<Row>& c, const DiffTree& tree, bool durations_lead) {
  int other = durations_lead ? 0 : kDataOnly;
  add_sides(c, "host_total_duration", "CPU total", Unit::time, other, true, true, &CallCosts::host_total_ns);
  add_sides(c, "host_self_duration", "Self CPU", Unit::time, kDataOnly, true, true, &CallCosts::host_self_ns);
  if (tree.a_has_device || tree.b_has_device) {
    add_sides(c, "device_total_duration", "CUDA total", Unit::time, kDataOnly, tree.a_has_device, tree.b_has_device,
              &CallCosts::device_total_ns);
    add_sides(c, "device_self_duration", "Self CUDA", Unit::time, kDataOnly, tree.a_has_device, tree.b_has_device,
              &CallCosts::device_self_ns);
  }
  add_sides(c, "calls", "Calls", Unit::number, 3, true, true, &CallCosts::calls);
}

}  // namespace

Table diff_tree_table(const DiffTree& tree) {
  Columns<DiffNode> c;
  c.add("name", "Name", Unit::text, 0, [](auto& r) { return r.name; });
  c.add("b_name", "Name in B", Unit::text, kDataOnly, [](auto& r) { return r.b_name.empty() ? r.name : r.b_name; });
  c.add("kind", "Kind", Unit::text, kDataOnly, [](auto& r) { return kind_text(r.kind); });
  c.add("node", "Node", Unit::count, kDataOnly, [&](auto& r) { return i64(&r - tree.nodes.data()); });
  c.add("where", "", Unit::text, 1, [](auto& r) { return where_text(r.in_a, r.in_b); });
  c.add("a_total_duration", "A", Unit::time, 0, [](auto& r) { return r.in_a ? ns(r.a_total_ns) : Value(); });
  c.add("b_total_duration", "B", Unit::time, 0, [](auto& r) { return r.in_b ? ns(r.b_total_ns) : Value(); });
  c.add("delta_total_duration", "Change", Unit::time, 0, [](auto& r) { return ns(r.b_total_ns - r.a_total_ns); });
  c.add("percent_total_duration", "Change %", Unit::percent, 2, [](auto& r) {
     return r.a_total_ns > 0 ? Value(100 * (r.b_total_ns - r.a_total_ns) / r.a_total_ns) : Value();
   }).sense = Sense::fault;
  add_costs(c, tree, false);
  c.add("bar", "Bar", Unit::text, kDataOnly, [](auto& r) { return r.bar.empty() ? Value() : Value(r.bar); });
  auto summed = [&](const char* key, auto get) {
    c.add(key, key, Unit::time, kDataOnly, [get](auto& r) { return r.bar.empty() ? Value() : ns(get(r)); });
  };
  summed("a_accumulated", [](const DiffNode& r) { return r.a_accumulated_ns; });
  summed("b_accumulated", [](const DiffNode& r) { return r.b_accumulated_ns; });
  summed("delta_accumulated", [](const DiffNode& r) { return r.b_accumulated_ns - r.a_accumulated_ns; });
  std::vector<i32> parents;
  for (const DiffNode& node : tree.nodes) parents.push_back(node.parent);
  return tree_table(c.table("Calls beside each other", tree.nodes), parents);
}

Table diff_totals_table(const DiffTree& tree) {
  Columns<DiffTotal> c;
  c.add("node", "Node", Unit::count, kDataOnly, [](auto& r) { return i64(r.node); });
  c.add("name", "Operator", Unit::text, 0, [](auto& r) { return r.name; });
  c.add("where", "", Unit::text, 1, [](auto& r) { return where_text(r.in_a, r.in_b); });
  add_costs(c, tree, true);
  return c.table("Operators", tree.totals);
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

// The columns of the rows in JSON, in the form that tables have.
Json row_columns() {
  static constexpr const char* kColumns[][3] = {{"by", "Kind", "text"},
                                                {"name", "Name", "text"},
                                                {"a_us", "A", "us"},
                                                {"b_us", "B", "us"},
                                                {"delta_us", "Change", "us"},
                                                {"change_percent", "Change %", "percent"},
                                                {"low_us", "95 % from", "us"},
                                                {"high_us", "95 % to", "us"},
                                                {"smallest_us", "Can be found from", "us"},
                                                {"changed", "More than noise", "yes/no"},
                                                {"a_calls", "Calls A", "number"},
                                                {"b_calls", "Calls B", "number"}};
  Json out = Json::array();
  for (auto& [key, title, unit] : kColumns) out.push_back({{"key", key}, {"title", title}, {"unit", unit}});
  return out;
}

}  // namespace

Json diff_tree_json(const DiffTree& tree, const TableJson& tables) {
  Table nodes = diff_tree_table(tree), totals = diff_totals_table(tree);
  std::vector<double> weights;
  for (const DiffNode& node : tree.nodes) weights.push_back(std::max(node.a_total_ns, node.b_total_ns));
  limit_tree(nodes, 0, kDiffTreeRows, weights);
  auto node_column = size_t(nodes.column("node"));
  std::set<Value> kept;
  for (const auto& row : nodes.rows) kept.insert(row[node_column]);
  size_t all = totals.rows.size();
  std::erase_if(totals.rows, [&](const auto& row) { return !kept.count(row[0]); });
  if (totals.rows.size() > kDiffTotalRows) totals.rows.resize(kDiffTotalRows);
  if (totals.rows.size() < all)
    totals.footer.push_back(std::to_string(totals.rows.size()) + " of " + std::to_string(all) + " rows");
  return {{"tree", tables(nodes)}, {"totals", tables(totals)}};
}

Json diff_json(const Diff& diff, const TableJson& tables) {
  static constexpr const char* kVerdicts[] = {"unknown", "noise", "changed", "second_changed"};
  Json out = {{"schema", 1},
              {"rules", "tprof"},
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
  out.update(diff_tree_json(diff.tree, tables));
  return out;
}

}  // namespace tprof
