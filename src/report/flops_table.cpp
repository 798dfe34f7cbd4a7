#include "report/flops_table.h"

#include "model/inputs.h"
#include "report/columns.h"

namespace tprof {
namespace {

// Why shares of a peak are not known; empty: they are known.
std::string why_no_peak(const Model& model, const Flops& flops) {
  if (flops.peak) return "";
  bool kernels = false;
  for (const GpuEvent& work : model.gpu) kernels |= work.kind() == Kind::kernel;
  if (!kernels) return "no kernel in this trace";
  if (model.devices.empty() || !model.devices.begin()->second.name[0]) return "the trace does not name its GPU";
  return std::string(model.devices.begin()->second.name) + " is not in the device table: --devices FILE";
}

double share(i64 part, i64 all) { return 100 * double(part) / double(all); }

// ", of operators with 81.2 % of the kernel time": what a sum of FLOPs covers.
std::string covered(const FlopsCoverage& c) {
  if (c.share() < 0) return "";
  return ", of operators with " + share_text(c.share()) + " of the " + (c.gpu_ns ? "kernel time" : "operators' time");
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
    out.footer.push_back("FLOPs: not known, no input shapes in this trace (run with --record-shapes)");
    return out;
  }
  std::string total = flops.counted || !flops.unknown ? flop_text(flops.total) : "FLOPs not known";
  out.footer.push_back("All of the steps: " + total +
                       (flops.tflops >= 0 ? ", " + flop_text(flops.tflops * 1e12) + "/s" : "") +
                       covered(flops.coverage));
  std::string why = why_no_peak(model, flops);
  if (flops.mfu >= 0)
    out.footer.push_back("MFU: " + std::string(flops.unknown ? "at least " : "") + printed("%.2f %%", 100 * flops.mfu) +
                         " (peaks of " + flops.peak->name + " in the device table)");
  else
    out.footer.push_back("MFU and roofs: not known, " +
                         (why.empty() ? "the device table has no peak for a type that is used" : why));
  for (const auto& [name, calls] : flops.unknown_by_name)
    out.footer.push_back(name + ": " + std::to_string(calls) + " calls whose FLOPs do not follow from their inputs");
  return out;
}

Table flops_coverage_table(const Flops& flops) {
  Table out{"Time in operators whose FLOPs are known",
            {{"of", "Of", Unit::text},
             {"time", "Time", Unit::time},
             {"known", "FLOPs known", Unit::time},
             {"known_percent", "Known %", Unit::percent}}};
  const FlopsCoverage& c = flops.coverage;
  if (c.gpu_ns) out.rows.push_back({"kernels", c.gpu_ns, c.gpu_known_ns, share(c.gpu_known_ns, c.gpu_ns)});
  if (c.host_ns)
    out.rows.push_back({"operators themselves", c.host_ns, c.host_known_ns, share(c.host_known_ns, c.host_ns)});
  return out;
}

Table flops_missing_table(const Model& model, const Flops& flops) {
  const FlopsCoverage& time = flops.coverage;
  Columns<FlopsMissing> c;
  c.add("name", "Operator", Unit::text, 0,
        [&](auto& r) { return r.name == kNone ? std::string("(no operator)") : model.names[r.name]; });
  c.add("calls", "Calls", Unit::count, 0, [](auto& r) { return r.name == kNone ? Value() : Value(i64(r.calls)); });
  c.add("kernel_time", "Kernel time", Unit::time, 0, [&](auto& r) { return time.gpu_ns ? Value(r.gpu_ns) : Value(); });
  c.add("host_self_duration", "Self CPU", Unit::time, 0, [](auto& r) { return r.host_ns; });
  c.add("percent", time.gpu_ns ? "of kernel time" : "of Self CPU", Unit::percent, 0, [&](auto& r) {
    i64 all = time.gpu_ns ? time.gpu_ns : time.host_ns;
    return all ? Value(share(time.gpu_ns ? r.gpu_ns : r.host_ns, all)) : Value();
  });
  return c.table("Operators whose FLOPs are not counted", flops.missing);
}

}  // namespace tprof
