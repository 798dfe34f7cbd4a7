#include "report/flops_table.h"

#include "model/inputs.h"
#include "report/columns.h"

namespace tprof {
namespace {

// Why shares of a peak are not known; empty: they are.
std::string why_no_peak(const Model& model, const Flops& flops) {
  if (flops.peak) return "";
  bool kernels = false;
  for (const GpuEvent& work : model.gpu) kernels |= work.kind() == Kind::kernel;
  if (!kernels) return "no kernel in this trace";
  if (model.devices.empty() || !model.devices.begin()->second.name[0]) return "the trace does not name its GPU";
  return std::string(model.devices.begin()->second.name) + " is not in the device table: --devices FILE";
}

}  // namespace

Table flops_table(const Model& model, const Flops& flops) {
  Columns<FlopsRow> c;
  auto event = [&](const FlopsRow& r) -> const Event& { return model.events[r.event]; };
  c.add("name", "Operator", Unit::text, 0, [=, &model](auto& r) { return model.name_of(event(r)); });
  c.add("input_shape", "Input Shapes", Unit::text, 1, [=](auto& r) { return dims_text(event(r)); });
  c.add("calls", "Calls", Unit::count, 0, [](auto& r) { return i64(r.calls); });
  c.add("gflop", "FLOP", Unit::gflop, 0, [](auto& r) { return r.flops / 1e9; });
  c.add("total_size", "Bytes moved", Unit::bytes, 3,
        [](auto& r) { return r.bytes < 0 ? Value() : Value(i64(r.bytes)); });
  c.add("time", "Time", Unit::time, 0, [](auto& r) { return r.time_ns(); });
  c.add("on", "On", Unit::text, 2, [](auto& r) { return r.gpu_ns ? "GPU" : "CPU"; });
  c.add("tflops", "FLOP/s", Unit::tflops, 0, [](auto& r) { return r.time_ns() > 0 ? Value(r.tflops()) : Value(); });
  c.add("roof_percent", "of its roof", Unit::percent, 0,
        [&](auto& r) { return flops.of_roof(r) < 0 ? Value() : Value(100 * flops.of_roof(r)); });
  c.add("bound_by", "Bound by", Unit::text, 1, [&](auto& r) {
    return flops.of_roof(r) < 0 ? Value() : Value(flops.memory_bound(r) ? "memory" : "computation");
  });
  Table out = c.table("FLOPs of operators", flops.rows);
  if (!flops.shapes_known) {
    out.footer.push_back("FLOPs: not known, no shapes of inputs in this trace (run with --record-shapes)");
    return out;
  }
  out.footer.push_back("All of the steps: " + flop_text(flops.total) +
                       (flops.tflops >= 0 ? ", " + flop_text(flops.tflops * 1e12) + "/s" : ""));
  std::string why = why_no_peak(model, flops);
  if (flops.mfu >= 0)
    out.footer.push_back("MFU: " + printed("%.2f %%", 100 * flops.mfu) + " (peaks of " + flops.peak->name +
                         " in the device table)");
  else
    out.footer.push_back("MFU and roofs: not known, " +
                         (why.empty() ? "the device table has no peak for a type that is used" : why));
  for (const auto& [name, calls] : flops.unknown_by_name)
    out.footer.push_back(name + ": " + std::to_string(calls) + " calls whose inputs do not tell their FLOPs");
  return out;
}

}  // namespace tprof
