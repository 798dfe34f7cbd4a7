// The tables of stats_tables.h that only the plugin has in this form.
#include <stdio.h>

#include <algorithm>
#include <cmath>

#include "plugin_compat/curve.h"
#include "report/module_columns.h"
#include "report/plugin_rounding.h"
#include "report/stats_tables.h"
#include "report/tree_table.h"

namespace tprof {
namespace {

constexpr double kMillisecond = 0.001;

Value rounded_ms(std::optional<double> us) { return us ? Value(plugin_rounded(*us * kMillisecond)) : Value(); }

}  // namespace

Table plugin_memory_events_table(const PluginMemory& memory) {
  Table out{"Memory Events",
            {{"device", "Device", Unit::text},
             {"operator", "Operator", Unit::text},
             {"size", "Size (KB)", Unit::number},
             {"allocation_time", "Allocation Time (ms)", Unit::number},
             {"release_time", "Release Time (ms)", Unit::number},
             {"duration", "Duration (ms)", Unit::number}}};
  for (const auto& [device, rows] : memory.rows)
    for (const PluginMemoryRow& row : rows) {
      std::optional<double> lasted;
      if (row.allocated_us && row.released_us) lasted = *row.released_us - *row.allocated_us;
      out.rows.push_back({device, row.op, plugin_rounded(double(row.bytes) / 1024), rounded_ms(row.allocated_us),
                          rounded_ms(row.released_us), rounded_ms(lasted)});
    }
  return out;
}

Json plugin_memory_curves_json(const PluginMemory& memory) {
  Json out = Json::object();
  for (const auto& [device, curve] : memory.curves) {
    i64 peak = 0;
    for (const PluginMemoryPoint& p : curve) peak = std::max(peak, p.allocated_bytes);
    Json points = Json::array();
    for (const auto& [ms, allocated, reserved] : thinned(plugin_curve(curve)))
      points.push_back({ms, allocated, reserved});
    out[device] = {{"peak", printed("Peak Memory Usage: %.1fMB", double(peak) / (1 << 20))},
                   {"points", std::move(points)}};
  }
  return out;
}

namespace {

// Both tables are trees.
Table module_rows(const Columns<PluginModule>& columns, const char* title, const std::vector<PluginModule>& modules) {
  std::vector<i32> parents;
  for (const PluginModule& module : modules) parents.push_back(module.parent);
  return tree_table(columns.table(title, modules), parents);
}

}  // namespace

Table lightning_table(const std::vector<PluginModule>& modules, bool has_device) {
  Columns<PluginModule> c;
  c.add("name", "Module", Unit::text, 0, [](auto& r) { return r.name; });
  add_module_costs(c, has_device);
  c.add("mean_duration", "Mean", Unit::time, 3, [](auto& r) { return i64(std::llround(r.mean_ns())); });
  Table out = module_rows(c, "PyTorch Lightning's modules", modules);
  if (modules.empty()) out.footer.push_back("Lightning: the trace has no ranges of its profiler (\"[pl][module]...\")");
  return out;
}

Table plugin_modules_table(const std::vector<PluginModule>& modules) {
  auto us = [](i64 ns) { return double(ns) / 1000; };
  Columns<PluginModule> c;
  c.add("name", "Module Name", Unit::text, 0, [](auto& r) { return r.name; });
  c.add("occurences", "Occurences", Unit::count, 0, [](auto& r) { return i64(r.occurrences); });
  c.add("operators", "Operators", Unit::count, 2, [](auto& r) { return i64(r.operators); });
  c.add("host_duration", "Host Total Time", Unit::number, 0, [=](auto& r) { return us(r.host_total_ns); });
  c.add("self_host_duration", "Host Self Time", Unit::number, 1, [=](auto& r) { return us(r.host_self_ns); });
  c.add("device_duration", "Device Total Time", Unit::number, 0, [=](auto& r) { return us(r.device_total_ns); });
  c.add("self_device_duration", "Device Self Time", Unit::number, 1, [=](auto& r) { return us(r.device_self_ns); });
  c.add("avg_duration", "Mean", Unit::number, 3, [](auto& r) { return r.mean_ns() / 1000; });
  Table out = module_rows(c, "Modules, as torch_tb_profiler counts them", modules);
  if (modules.empty()) out.footer.push_back("Modules: not recorded (run with --with-modules)");
  return out;
}

}  // namespace tprof
