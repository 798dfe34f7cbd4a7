#include "report/distributed_tables.h"

#include <cmath>

#include "report/columns.h"

namespace tprof {
namespace {

constexpr char kMeanOfSteps[] = "all";  // the plugin's name for the mean

Value known(const KnownNs& ns) { return ns ? Value(*ns) : Value(); }

// The rank's number if the ranks have one, and the worker, which text then does not show.
template <class Row>
void add_rank_columns(Columns<Row>& c, const DistributedView& view) {
  bool numbered = false;
  for (const auto& rank : view.ranks) numbered |= rank.number >= 0;
  if (numbered)
    c.add("rank", "Rank", Unit::count, 0, [&](auto& r) {
       i32 number = view.ranks[r.rank].number;
       return number < 0 ? Value() : Value(i64(number));
     }).tells_apart = true;
  c.add("worker", "Worker", Unit::text, numbered ? 9 : 0, [&](auto& r) { return view.ranks[r.rank].worker; });
}

// As Python rounds.
Value mean_of(const std::optional<i64>& sum, u64 count, i64 unit) {
  if (!sum || !count) return {};
  return i64(std::nearbyint(double(*sum) / double(unit) / double(count))) * unit;
}

}  // namespace

Table rank_steps_table(const DistributedView& view) {
  bool plugin = view.rules == RuleSet::plugin, undivided = false;
  for (const RankInStep& row : view.steps) undivided |= row.undivided_ns.value_or(0) > 0;
  Columns<RankInStep> c;
  auto time = [&](const char* key, const char* title, int leaves, KnownNs RankInStep::*field) {
    c.add(key, title, Unit::time, leaves, [=](auto& r) { return known(r.*field); });
  };
  c.add("step", "Step", Unit::text, 0, [](auto& r) {
    return r.mean ? Value(kMeanOfSteps) : r.step ? Value(*r.step) : Value();
  });
  add_rank_columns(c, view);
  if (!plugin) time("total", "Total", 2, &RankInStep::total_ns);
  time("computation", "Computation", 0, &RankInStep::computation_ns);
  time("overlapping", "Overlapping", 1, &RankInStep::overlap_ns);
  time("communication", "Communication", 0, &RankInStep::communication_ns);
  time("other", "Other", 1, &RankInStep::other_ns);
  time("data_transfer", "Data transfer", 0, &RankInStep::transfer_ns);
  time("synchronizing", "Synchronizing", 0, &RankInStep::synchronizing_ns);
  if (!plugin) time("undivided", "Either", undivided ? 1 : kDataOnly, &RankInStep::undivided_ns);
  Table out =
      c.table(plugin ? "Steps of each worker, as torch_tb_profiler counts them" : "Steps of each rank", view.steps);
  if (undivided)
    out.footer.push_back("Either: time in collectives for which the traces do not separate transfer from waiting");
  out.footer.insert(out.footer.end(), view.notes.begin(), view.notes.end());
  return out;
}

Table rank_operations_table(const DistributedView& view) {
  bool plugin = view.rules == RuleSet::plugin;
  Columns<RankOperation> c;
  add_rank_columns(c, view);
  c.add("name", plugin ? "Name" : "Operation", Unit::text, 0, [](auto& r) { return r.op; });
  if (!plugin) c.add("group", "Group", Unit::text, 5, [](auto& r) { return r.group; });
  c.add("calls", "Calls", Unit::count, 0, [](auto& r) { return i64(r.calls); });
  auto size = [&](const char* key, const char* title, int leaves, auto get) {
    c.add(key, (title + std::string(plugin ? " (bytes)" : "")).c_str(), plugin ? Unit::count : Unit::bytes, leaves,
          get);
  };
  // The plugin shows microseconds, and rounds means to whole ones.
  i64 unit = plugin ? 1000 : 1;
  auto time = [&](const char* key, const char* title, int leaves, auto get) {
    if (!plugin) c.add(key, title, Unit::time, leaves, get);
    if (plugin)
      c.add(key, (title + std::string(" (us)")).c_str(), Unit::number, leaves, [get](auto& r) {
        Value ns = get(r);
        return ns.index() ? Value(double(std::get<i64>(ns)) / 1000) : ns;
      });
  };
  size("total_size", "Total Size", 1, [](auto& r) { return r.bytes ? Value(*r.bytes) : Value(); });
  size("avg_size", "Avg Size", 3, [](auto& r) { return mean_of(r.bytes, r.calls, 1); });
  time("total_latency", "Total Latency", 0, [](auto& r) { return Value(r.total_ns); });
  time("avg_latency", "Avg Latency", 2, [=](auto& r) { return mean_of(r.total_ns, r.calls, unit); });
  time("data_transfer", "Data Transfer Time", 0, [](auto& r) { return known(r.transfer_ns); });
  time("avg_data_transfer", "Avg Data Transfer Time", 4,
       [=](auto& r) { return mean_of(r.transfer_ns, r.calls, unit); });
  Table out = c.table(plugin ? "Communication Operations Stats" : "Communication of each rank", view.operations);
  if (plugin) out.footer = view.notes;
  return out;
}

Table nodes_table(const DistributedView& view) {
  bool plugin = view.rules == RuleSet::plugin, any = false;
  for (const NodeGpu& gpu : view.gpus) any |= gpu.gpu.has_value();
  auto of_any = [&](int leaves) { return any ? leaves : kDataOnly; };  // nothing to see in text
  Columns<NodeGpu> c;
  auto text = [](const std::string& text) { return text.empty() ? Value() : Value(text); };
  auto of_gpu = [](const NodeGpu& r, auto value) { return r.gpu ? Value(value(*r.gpu)) : Value(); };
  auto percent = [&](const char* key, const char* title, double GpuFigures::*field, double factor) {
    c.add(key, title, Unit::percent, of_any(2),
          [=](auto& r) { return r.gpu && (*r.gpu).*field >= 0 ? Value((*r.gpu).*field * factor) : Value(); });
  };
  c.add("node", "Node", Unit::text, 0, [=](auto& r) { return text(r.node); });
  c.add("process", "Process", Unit::text, 0, [=](auto& r) { return text(r.process); });
  add_rank_columns(c, view);
  c.add("gpu", "GPU", Unit::count, of_any(0), [=](auto& r) {
     return of_gpu(r, [](auto& g) { return i64(g.device); });
   }).tells_apart = true;
  c.add("name", "Name", Unit::text, of_any(1),
        [=](auto& r) { return of_gpu(r, [=](auto& g) { return g.name_is_empty ? Value("") : text(g.name); }); });
  c.add("memory", "Memory", Unit::bytes, of_any(3),
        [](auto& r) { return r.gpu && r.gpu->memory_bytes >= 0 ? Value(i64(r.gpu->memory_bytes)) : Value(); });
  c.add("compute_capability", "Compute Capability", Unit::text, of_any(4), [](auto& r) {
    if (!r.gpu || r.gpu->compute_major < 0) return Value();
    return Value(std::to_string(r.gpu->compute_major) + "." + std::to_string(r.gpu->compute_minor));
  });
  if (!plugin) {
    percent("utilization", "GPU Utilization", &GpuFigures::utilization, 100);
    percent("sm_efficiency", "Est. SM Efficiency", &GpuFigures::sm_efficiency, 100);
    percent("occupancy", "Est. Achieved Occupancy", &GpuFigures::occupancy, 1);
  }
  Table out = c.table("Device Information", view.gpus);
  if (!any)
    out.footer.push_back(plugin ? "GPU: the traces state no properties of devices" : "No GPU work was recorded");
  return out;
}

}  // namespace tprof
