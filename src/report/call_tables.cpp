#include "report/call_tables.h"

#include <cmath>

#include "report/columns.h"
#include "report/tree_table.h"

namespace tprof {
namespace {

constexpr char kNoBackward[] = "Backward passes: the trace links no backward operator to a forward one";
constexpr size_t kTimelineRows = 20000;  // the longest ranges
constexpr char kNoDevice[] = "No GPU work was recorded";

Value whole(double ns) { return i64(std::llround(ns)); }

std::string thread_text(const TraceThread& thread) {
  return "thread " + std::to_string(thread.tid) + (thread.name.empty() ? "" : " (" + thread.name + ")");
}

}  // namespace

const char* kind_text(NodeKind kind) {
  switch (kind) {
    case NodeKind::op: return "op";
    case NodeKind::label: return "label";
    case NodeKind::step: return "step";
    case NodeKind::call: return "call";
    case NodeKind::module: return "module";
    case NodeKind::python: return "python";
    case NodeKind::data_loader: return "data_loader";
    case NodeKind::optimizer: return "optimizer";
    case NodeKind::lightning: return "lightning";
    case NodeKind::backward: return "backward";
    case NodeKind::root: return "thread";
  }
  return "";
}

Table call_tree_table(const Model& model, const CallTree& tree) {
  Columns<CallNode> c;
  c.add("name", "Name", Unit::text, 0,
        [&](auto& r) { return r.kind == NodeKind::root ? thread_text(model.threads[r.thread]) : r.name; });
  c.add("kind", "Kind", Unit::text, kDataOnly, [](auto& r) { return kind_text(r.kind); });
  c.add("thread", "Thread", Unit::count, kDataOnly, [&](auto& r) { return i64(model.threads[r.thread].tid); });
  c.add("host_total_duration", "CPU total", Unit::time, 0, [](auto& r) { return whole(r.costs.host_total_ns); });
  c.add("host_self_duration", "Self CPU", Unit::time, 2,
        [](auto& r) { return r.kind == NodeKind::root ? Value() : whole(r.costs.host_self_ns); });
  if (tree.has_device) {
    auto on_device = [](const CallNode& r, double ns) { return r.kind == NodeKind::call ? Value() : whole(ns); };
    c.add("device_total_duration", "CUDA total", Unit::time, 0,
          [=](auto& r) { return on_device(r, r.costs.device_total_ns); });
    c.add("device_self_duration", "Self CUDA", Unit::time, 2,
          [=](auto& r) { return on_device(r, r.costs.device_self_ns); });
  }
  if (tree.has_backward) {
    c.add("backward_host_duration", "Backward CPU", Unit::time, 1,
          [](auto& r) { return whole(r.costs.backward_host_ns); });
    if (tree.has_device)
      c.add("backward_device_duration", "Backward CUDA", Unit::time, 1,
            [](auto& r) { return whole(r.costs.backward_device_ns); });
  }
  c.add("calls", "Calls", Unit::count, 0,
        [](auto& r) { return r.kind == NodeKind::root ? Value() : Value(i64(std::llround(r.costs.calls))); });
  c.add("source_line", "Source Location", Unit::text, kDataOnly,
        [&](auto& r) { return r.stack ? Value(model.names[model.stacks[r.stack].text]) : Value(); });
  std::vector<i32> parents;
  for (const CallNode& node : tree.nodes) parents.push_back(node.parent);
  Table table = tree_table(c.table("Who called whom", tree.nodes), parents);
  if (!tree.has_device) table.footer.push_back(kNoDevice);
  if (tree.unattributed_ns > 0)
    table.footer.push_back("GPU time that nothing here launched: " + time_text(i64(tree.unattributed_ns)));
  if (!tree.has_backward)
    table.footer.push_back(kNoBackward);
  else if (tree.uncharged_ns > 0)
    table.footer.push_back(
        "Backward passes that no forward operator is known for (gradients that are accumulated are such): " +
        time_text(i64(tree.uncharged_ns)));
  return table;
}

Table timeline_table(const std::vector<TimelineRange>& ranges, i64 zero_ns) {
  Columns<TimelineRange> c;
  c.add("name", "Name", Unit::text, 0, [](auto& r) { return r.name; });
  c.add("kind", "Kind", Unit::text, kDataOnly, [](auto& r) { return kind_text(r.kind); });
  c.add("begin", "Begin", Unit::time, 0, [=](auto& r) { return r.begin_ns - zero_ns; });
  c.add("duration", "Duration", Unit::time, 0, [](auto& r) { return r.end_ns - r.begin_ns; });
  c.add("end", "End", Unit::time, 1, [=](auto& r) { return r.end_ns - zero_ns; });
  std::vector<i32> parents;
  std::vector<double> lengths;
  for (const TimelineRange& range : ranges) {
    parents.push_back(range.parent);
    lengths.push_back(double(range.end_ns - range.begin_ns));
  }
  HeaviestRows heaviest(parents, lengths, kTimelineRows);
  std::vector<TimelineRange> shown;
  for (size_t row : heaviest.rows) shown.push_back(ranges[row]);
  Table table = tree_table(c.table("Ranges of the main thread", shown), heaviest.parents, heaviest.left_out);
  if (shown.size() < ranges.size()) table.footer.push_back(rows_left_out(shown.size(), ranges.size()));
  if (ranges.empty()) table.footer.push_back("Ranges: none were recorded");
  return table;
}

Table lines_table(const Model& model, const CostsByLine& lines) {
  Columns<LineCosts> c;
  auto time = [&](const char* key, const char* title, int leaves, i64 LineCosts::*figure) {
    c.add(key, title, Unit::time, leaves, [figure](auto& r) { return r.*figure; });
  };
  c.add("name", "Source Location", Unit::lines, 0, [&](auto& r) { return model.names[r.name]; });
  time("host_total_duration", "CPU total", 0, &LineCosts::host_total_ns);
  time("host_self_duration", "Self CPU", 2, &LineCosts::host_self_ns);
  if (lines.has_device) {
    time("device_total_duration", "CUDA total", 0, &LineCosts::device_total_ns);
    time("device_self_duration", "Self CUDA", 2, &LineCosts::device_self_ns);
  }
  if (lines.has_backward) {
    time("backward_host_duration", "Backward CPU", 1, &LineCosts::backward_host_ns);
    time("backward_host_self_duration", "Self backward CPU", kDataOnly, &LineCosts::backward_host_self_ns);
    if (lines.has_device) {
      time("backward_device_duration", "Backward CUDA", 1, &LineCosts::backward_device_ns);
      time("backward_device_self_duration", "Self backward CUDA", kDataOnly, &LineCosts::backward_device_self_ns);
    }
  }
  c.add("calls", "Calls", Unit::count, 0, [](auto& r) { return i64(r.calls); });
  c.add("self_calls", "Self calls", Unit::count, kDataOnly, [](auto& r) { return i64(r.self_calls); });
  Table table = c.table("Source lines", lines.rows);
  if (lines.rows.empty()) {
    table.footer.push_back("Source lines: not recorded (run with --with-stack)");
    return table;
  }
  if (lines.of_calls)
    table.footer.push_back("The trace has no call stacks: each Python function is listed by its first line");
  table.footer.push_back("Self CPU time of operators: " + time_text(lines.host_ns) + ", " +
                         time_text(lines.without_line_ns) + " of it without a line");
  if (!lines.has_device) table.footer.push_back(kNoDevice);
  if (!lines.has_backward) table.footer.push_back(kNoBackward);
  return table;
}

}  // namespace tprof
