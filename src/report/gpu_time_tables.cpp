// The tables of gpu_tables.h about where the time of GPUs went.
#include <algorithm>

#include "analysis/tables/operators.h"
#include "report/columns.h"
#include "report/gpu_tables.h"

namespace tprof {

Table exposed_table(const std::vector<DeviceExposed>& devices, const Windows& windows) {
  struct Row {
    u32 device;
    std::string step;
    Exposed e;
  };
  std::vector<Row> rows;
  for (const DeviceExposed& d : devices) {
    if (windows.has_steps)
      for (size_t i = 0; i < d.steps.size(); i++) rows.push_back({d.device, windows.names[i], d.steps[i]});
    rows.push_back({d.device, "all", d.all});
  }
  Columns<Row> c;
  auto time = [&](const char* key, const char* title, int leaves, i64 Exposed::*field) {
    c.add(key, title, Unit::time, leaves, [=](auto& r) { return r.e.*field; });
  };
  c.add("device", "GPU", Unit::count, 0, [](auto& r) { return i64(r.device); });
  c.add("step", "Step", Unit::text, 0, [](auto& r) { return r.step; });
  time("total", "Total", 0, &Exposed::span_ns);
  time("computation", "Computation", 0, &Exposed::computation_ns);
  time("exposed_communication", "Exposed comm.", 0, &Exposed::exposed_communication_ns);
  time("exposed_copies", "Exposed copies", 0, &Exposed::exposed_copies_ns);
  time("idle", "Idle", 0, &Exposed::idle_ns);
  c.add("idle_percent", "Idle %", Unit::percent, 2, [](auto& r) {
     return percent_of(r.e.idle_ns, r.e.span_ns);
   }).sense = Sense::fault;
  time("communication", "All comm.", 3, &Exposed::communication_ns);
  time("copies", "All copies", 4, &Exposed::copies_ns);
  c.add("overlap", "Comm. hidden", Unit::percent, 1,
        [](auto& r) { return r.e.overlap() < 0 ? Value() : Value(100 * r.e.overlap()); });
  Table out = c.table("GPU time without overlaps", rows);
  if (rows.empty()) out.footer.push_back(kNoGpuWork);
  if (!rows.empty() && !windows.has_steps) out.footer.push_back("Steps: none in this trace; all of it is one row");
  return out;
}

Table idle_table(const std::vector<IdleLane>& lanes) {
  Columns<IdleLane> c;
  auto cause = [&](const char* key, const char* title, int leaves, IdleCause which) {
    c.add(key, title, Unit::time, leaves, [=](auto& r) { return r.of(which) - r.at_edges_of(which); });
  };
  c.add("device", "GPU", Unit::count, 0, [](auto& r) { return i64(r.device); });
  c.add("stream", "Stream", Unit::text, 0,
        [](auto& r) { return r.stream == kNone ? "all" : std::to_string(r.stream); });
  c.add("busy", "Busy", Unit::time, 0, [](auto& r) { return r.busy_ns; });
  c.add("idle", "Idle", Unit::time, 0, [](auto& r) { return r.idle_ns; });
  c.add("idle_percent", "Idle %", Unit::percent, 1, [](auto& r) {
     return percent_of(r.idle_ns, r.busy_ns + r.idle_ns);
   }).sense = Sense::fault;
  cause("host_wait", "Host was late", 0, IdleCause::host_wait);
  c.add("launch", "of it, launching", Unit::time, 3, [](auto& r) { return r.launch_ns - r.launch_at_edges_ns; });
  cause("kernel_wait", "Between kernels", 2, IdleCause::kernel_wait);
  cause("other", "Other streams", 1, IdleCause::other);
  cause("device_wait", "GPU was late", 2, IdleCause::device);
  cause("unknown", "Unknown", 4, IdleCause::unknown);
  c.add("edges", "Begin and end", Unit::time, 1, [](auto& r) { return r.edges_ns; });
  c.add("edges_host_wait", "of it, host late", Unit::time, 2,
        [](auto& r) { return r.at_edges_of(IdleCause::host_wait); });
  c.add("gaps", "Gaps", Unit::count, 6, [](auto& r) {
    return i64(std::count_if(r.gaps.begin(), r.gaps.end(), [](const Gap& gap) { return !gap.edge; }));
  });
  Table out = c.table("Idle time by cause", lanes);
  if (lanes.empty()) out.footer.push_back(kNoGpuWork);
  bool unknown = false;
  for (const IdleLane& lane : lanes) unknown |= lane.of(IdleCause::unknown) > 0;
  if (unknown) out.footer.push_back("Unknown: the trace has no launch of the GPU activity that ended the gap");
  i64 edges = 0, late = 0;
  for (const IdleLane& lane : lanes) edges += lane.edges_ns, late += lane.of(IdleCause::device);
  if (edges > 0) out.footer.push_back("Begin and end: before the window's first GPU activity and after its last");
  if (late > 0) out.footer.push_back("GPU was late: launched in time; the trace does not show what it waited for");
  return out;
}

Table idle_reasons_table(const Model& model, const std::vector<IdleLane>& lanes) {
  struct Row {
    u32 device;
    Activity activity;
    std::string name;
    i64 ns = 0, edges_ns = 0, longest_ns = 0, all_ns = 0;
    u64 gaps = 0;
  };
  std::vector<Row> rows;
  for (const IdleLane& lane : lanes) {
    if (lane.stream != kNone) continue;
    std::map<std::pair<Activity, std::string>, Row> sums;  // the same name in different steps is one row
    for (const HostReason& reason : lane.reasons) {
      std::string name = reason.name == kNone ? "" : common_name(model.names[reason.name]);
      Row& row = sums.try_emplace({reason.activity, name}, Row{lane.device, reason.activity, name}).first->second;
      row.ns += reason.ns - reason.edges_ns;
      row.edges_ns += reason.edges_ns;
      row.longest_ns = std::max(row.longest_ns, reason.longest_ns);
      row.all_ns = lane.of(IdleCause::host_wait) - lane.at_edges_of(IdleCause::host_wait);
      row.gaps += reason.gaps;
    }
    size_t first = rows.size();
    for (auto& [key, row] : sums) rows.push_back(std::move(row));
    std::stable_sort(rows.begin() + i64(first), rows.end(),
                     [](const Row& x, const Row& y) { return x.ns + x.edges_ns > y.ns + y.edges_ns; });
  }
  Columns<Row> c;
  c.add("device", "GPU", Unit::count, 0, [](auto& r) { return i64(r.device); });
  c.add("activity", "The host was", Unit::text, 0, [](auto& r) { return activity_text(r.activity); });
  c.add("name", "In", Unit::text, 0, [](auto& r) { return r.name.empty() ? Value() : Value(r.name); });
  c.add("time", "Time", Unit::time, 0, [](auto& r) { return r.ns; });
  c.add("host_wait_percent", "of host waits", Unit::percent, 1, [](auto& r) { return percent_of(r.ns, r.all_ns); });
  c.add("edges", "Begin and end", Unit::time, 1, [](auto& r) { return r.edges_ns; });
  c.add("gaps", "Gaps", Unit::count, 2, [](auto& r) { return i64(r.gaps); });
  c.add("longest", "Longest", Unit::time, 3, [](auto& r) { return r.longest_ns; });
  return c.table("What the host did while a GPU waited for it", rows);
}

}  // namespace tprof
