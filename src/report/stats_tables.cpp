#include "report/stats_tables.h"

#include <cmath>

#include "report/call_tables.h"
#include "report/module_columns.h"
#include "report/stack_text.h"
#include "report/tree_table.h"

namespace tprof {
namespace {

constexpr char kNoMemory[] = "Memory: not recorded (run with --profile-memory)";
constexpr char kNoDevice[] = "No GPU work was recorded";

// As Python rounds: to even.
i64 micros(double ns) { return i64(std::nearbyint(ns / 1000)); }
double percent(i64 part, i64 whole) { return 100.0 * double(part) / double(whole); }

void add_memory_columns(Columns<OperatorRow>& c, u8 type, const char* key, const char* self_key, const char* title,
                        const char* self_title) {
  c.add(key, title, Unit::bytes, 10, [type](auto& r) -> Value {
    return r.kind == NodeKind::call ? Value() : Value(memory_of(r, type).increase_bytes);
  });
  c.add(self_key, self_title, Unit::bytes, 6, [type](auto& r) -> Value {
    return r.kind == NodeKind::call ? Value() : Value(memory_of(r, type).self_increase_bytes);
  });
}

Table plugin_operators(const Model& model, const Operators& operators, OperatorKey key) {
  Columns<OperatorRow> c;
  c.add("name", "Name", Unit::text, 0, [](auto& r) { return r.name; });
  if (by_shape(key)) c.add("input_shape", "Input Shape", Unit::text, 3, [](auto& r) { return r.input_shape; });
  c.add("calls", "Calls", Unit::count, 0, [](auto& r) { return i64(r.calls); });
  if (operators.has_device) {
    c.add("device_self_duration", "Device Self Duration (us)", Unit::micros, 0,
          [](auto& r) { return micros(double(r.device_self_ns)); });
    c.add("device_total_duration", "Device Total Duration (us)", Unit::micros, 1,
          [](auto& r) { return micros(double(r.device_total_ns)); });
  }
  c.add("host_self_duration", "Host Self Duration (us)", Unit::micros, 0,
        [](auto& r) { return micros(double(r.host_self_ns)); });
  c.add("host_total_duration", "Host Total Duration (us)", Unit::micros, 1,
        [](auto& r) { return micros(double(r.host_total_ns)); });
  c.add("tc_eligible", "Tensor Cores Eligible", Unit::yes_no, 2, [](auto& r) { return i64(r.eligible); });
  c.add("tc_self_ratio", "Tensor Cores Self (%)", Unit::number, 3,
        [](auto& r) { return rounded(100 * r.tensor_self_ratio(), 2); });
  c.add("tc_total_ratio", "Tensor Cores Total (%)", Unit::number, 3,
        [](auto& r) { return rounded(100 * r.tensor_total_ratio(), 2); });
  c.add("has_call_stack", "Call Stack", Unit::yes_no, 4, [](auto& r) { return i64(r.has_stack); });
  constexpr char kTitle[] = "Operators, as torch_tb_profiler counts them";
  if (!by_stack(key)) return c.table(kTitle, operators.rows);
  c.add("call_stack", "Call Stack Frames", Unit::lines, 0, [&](auto& r) { return stack_text(model, r.stack); });
  std::vector<OperatorRow> rows = operators.rows;  // the plugin's View CallStack leaves out rows without a stack
  std::erase_if(rows, [](const OperatorRow& row) { return !row.has_stack; });
  return c.table(kTitle, rows);
}

}  // namespace

Table operators_table(const Model& model, const Operators& operators, OperatorKey key, RuleSet rules) {
  if (rules == RuleSet::plugin) return plugin_operators(model, operators, key);
  Columns<OperatorRow> c;
  i64 host = operators.host_self_ns, device = operators.device_self_ns;
  auto on_device = [](const OperatorRow& r, Value value) { return r.kind == NodeKind::call ? Value() : value; };
  c.add("name", "Name", Unit::text, 0, [](auto& r) { return r.name; });
  c.add("kind", "Kind", Unit::text, kDataOnly, [](auto& r) { return kind_text(r.kind); });
  if (by_shape(key)) c.add("input_shape", "Input Shapes", Unit::text, 0, [](auto& r) { return r.input_shape; });
  c.add("host_self_percent", "Self CPU %", Unit::percent, 1, [=](auto& r) { return percent_of(r.host_self_ns, host); });
  c.add("host_self_duration", "Self CPU", Unit::time, 0, [](auto& r) { return r.host_self_ns; });
  c.add("host_total_percent", "CPU total %", Unit::percent, 9,
        [=](auto& r) { return percent_of(r.host_total_ns, host); });
  c.add("host_total_duration", "CPU total", Unit::time, 3, [](auto& r) { return r.host_total_ns; });
  c.add("host_mean_duration", "CPU time avg", Unit::time, 8, [](auto& r) { return mean(r.host_total_ns, r.calls); });
  if (operators.has_device) {
    c.add("device_self_duration", "Self CUDA", Unit::time, 0, [=](auto& r) { return on_device(r, r.device_self_ns); });
    c.add("device_self_percent", "Self CUDA %", Unit::percent, 1,
          [=](auto& r) { return on_device(r, percent_of(r.device_self_ns, device)); });
    c.add("device_total_duration", "CUDA total", Unit::time, 2,
          [=](auto& r) { return on_device(r, r.device_total_ns); });
    c.add("device_mean_duration", "CUDA time avg", Unit::time, 7,
          [=](auto& r) { return on_device(r, mean(r.device_total_ns, r.calls)); });
  }
  if (operators.has_memory) {
    add_memory_columns(c, 0, "cpu_memory_usage", "self_cpu_memory_usage", "CPU Mem", "Self CPU Mem");
    if (operators.has_device)
      add_memory_columns(c, kCudaDeviceType, "cuda_memory_usage", "self_cuda_memory_usage", "CUDA Mem",
                         "Self CUDA Mem");
  }
  if (operators.has_device) {
    c.add("tc_eligible", "TC eligible", Unit::yes_no, 5, [](auto& r) { return i64(r.eligible); });
    c.add("tc_self_ratio", "TC used", Unit::percent, 4, [](auto& r) {
      return r.device_self_ns > 0 && !r.tensor_self_unknown ? Value(100 * r.tensor_self_ratio()) : Value();
    });
    c.add("tc_total_ratio", "TC used in total", Unit::percent, kDataOnly, [](auto& r) {
      return r.device_total_ns > 0 && !r.tensor_total_unknown ? Value(100 * r.tensor_total_ratio()) : Value();
    });
  }
  c.add("calls", "# of Calls", Unit::count, 0, [](auto& r) { return i64(r.calls); });
  c.add("has_call_stack", "Call stack", Unit::yes_no, kDataOnly, [](auto& r) { return i64(r.has_stack); });
  if (by_stack(key))
    c.add("call_stack", "Source Location", Unit::lines, 0, [&](auto& r) { return stack_text(model, r.stack); });
  Table table = c.table("Operators", operators.rows);
  table.footer.push_back("Self CPU time total: " + time_text(host));
  table.footer.push_back(operators.has_device ? "Self CUDA time total: " + time_text(device) : kNoDevice);
  if (operators.unattributed_ns)
    table.footer.push_back("GPU time that no operator launched: " + time_text(operators.unattributed_ns));
  if (!operators.has_memory) table.footer.push_back(kNoMemory);
  if (by_shape(key) && !operators.has_shapes)
    table.footer.push_back("Input shapes: not recorded (run with --record-shapes)");
  if (by_stack(key) && !operators.has_stacks)
    table.footer.push_back("Call stacks: not recorded (run with --with-stack)");
  return table;
}

Table kernels_table(const Kernels& kernels, bool by_op, RuleSet rules) {
  bool plugin = rules == RuleSet::plugin;
  Columns<KernelRow> c;
  auto sides = [=](const i32* of) {
    if (!of[0]) return plugin ? Value("None") : Value();
    return Value("[" + std::to_string(of[0]) + ", " + std::to_string(of[1]) + ", " + std::to_string(of[2]) + "]");
  };
  auto time = [&](const char* key, const char* title, int leaves, auto get) {
    // By operator the plugin rounds the mean alone; the others are as the trace has them.
    bool rounds = !by_op || key == std::string_view("mean_duration");
    if (plugin)
      c.add(key, (std::string(title) + " Duration (us)").c_str(), Unit::micros, leaves, [get, rounds](auto& r) {
        auto ns = i64(get(r));
        return rounds || ns % 1000 == 0 ? Value(micros(double(get(r)))) : Value(double(ns) / 1000);
      });
    else
      c.add(key, title, Unit::time, leaves, [get](auto& r) { return i64(std::llround(double(get(r)))); });
  };
  c.add("name", "Name", Unit::function, 0, [](auto& r) { return r.name; });
  if (by_op) {
    c.add("operator", "Operator", Unit::text, 0, [](auto& r) { return r.op.empty() ? Value() : Value(r.op); });
    // ROCm's kernels state neither registers nor shared memory, those of graphs no sizes either.
    auto known = [plugin](bool stated, Value value) { return stated || plugin ? value : Value(); };
    c.add("grid", "Grid", Unit::text, 6, [=](auto& r) { return known(r.grid[0] > 0, sides(r.grid)); });
    c.add("block", "Block", Unit::text, 6, [=](auto& r) { return known(r.block[0] > 0, sides(r.block)); });
    c.add("registers_per_thread", plugin ? "Register Per Thread" : "Registers", Unit::count, 7, [=](auto& r) {
       return known(r.registers > 0, i64(r.registers));
     }).tells_apart = true;
    c.add("shared_memory", plugin ? "Shared Memory" : "Shared", plugin ? Unit::count : Unit::bytes, 8, [=](auto& r) {
       return known(r.registers > 0 || r.shared_bytes > 0, i64(r.shared_bytes));
     }).tells_apart = true;
  }
  c.add("tc_used",
        !plugin ? "TC used"
        : by_op ? "Kernel Uses Tensor Cores"
                : "Tensor Cores Used",
        Unit::yes_no, 3, [](auto& r) {
          return r.tensor_cores == TensorCoreUse::unknown ? Value() : Value(i64(r.tensor_cores == TensorCoreUse::yes));
        });
  if (by_op)
    c.add("op_tc_eligible", plugin ? "Op is Tensor Cores eligible" : "Op TC eligible", Unit::yes_no, 7,
          [](auto& r) { return i64(r.op_eligible); });
  c.add("calls", "Calls", Unit::count, 0, [](auto& r) { return i64(r.calls); });
  time("total_duration", "Total", 0, [](auto& r) { return r.total_ns; });
  i64 total = kernels.total_ns;
  if (!plugin)
    c.add("total_percent", "Total %", Unit::percent, 0, [=](auto& r) { return percent_of(r.total_ns, total); });
  time("mean_duration", "Mean", 1, [](auto& r) { return r.mean_ns(); });
  time("max_duration", "Max", 2, [](auto& r) { return r.max_ns; });
  time("min_duration", "Min", 2, [](auto& r) { return r.min_ns; });
  auto known = [plugin](double value) {
    return value < 0 ? plugin ? Value(0.0) : Value() : Value(plugin ? rounded(value, 2) : value);
  };
  if (kernels.state_blocks)
    c.add("mean_blocks_per_sm", plugin ? "Mean Blocks Per SM" : "Blocks/SM", Unit::number, 5,
          [=](auto& r) { return known(r.blocks_per_sm); });
  if (kernels.state_occupancy)
    c.add("mean_occupancy", plugin ? "Mean Est. Achieved Occupancy (%)" : "Est. occupancy",
          plugin ? Unit::number : Unit::percent, 4, [=](auto& r) { return known(r.occupancy); });
  Table table = c.table(by_op ? "Kernels by operator and launch" : "Kernels", kernels.rows);
  if (kernels.rows.empty()) {
    table.footer.push_back("GPU: no kernel was recorded");
  } else if (!plugin) {
    auto share = [&](i64 ns) { return std::to_string(std::lround(percent(ns, std::max<i64>(total, 1)))) + "%"; };
    std::string unknown = share(kernels.tensor_unknown_ns);
    table.footer.push_back("Kernel time total: " + time_text(total) +
                           (kernels.tensor_unknown_ns == total && total > 0
                                ? ", whether on tensor cores is not known"
                                : ", " + share(kernels.tensor_ns) + " of it on tensor cores" +
                                      (unknown == "0%" ? "" : ", of " + unknown + " that is not known")));
    if (!kernels.state_occupancy) table.footer.push_back("Occupancy: not known (the trace states none)");
  }
  return table;
}

Table modules_table(const ModuleTree& modules, bool has_device) {
  Columns<ModulePlace> c;
  c.add("name", "Module", Unit::text, 0, [](auto& r) { return r.name; });
  add_module_costs(c, has_device);
  if (modules.has_backward) {
    c.add("backward_host_duration", "Backward CPU", Unit::time, 1, [](auto& r) { return r.backward_host_ns; });
    if (has_device)
      c.add("backward_device_duration", "Backward CUDA", Unit::time, 1, [](auto& r) { return r.backward_device_ns; });
  }
  if (modules.has_parameters) {
    auto known = [](const ModulePlace& r, u64 value) {
      return r.parameters == kUncounted ? Value() : Value(i64(value));
    };
    c.add("parameters", "Parameters", Unit::count, 2, [=](auto& r) { return known(r, r.parameters); });
    c.add("parameter_bytes", "Parameter Mem", Unit::bytes, 2, [=](auto& r) { return known(r, r.parameter_bytes); });
  }
  c.add("mean_duration", "Mean", Unit::time, 4,
        [](auto& r) { return mean(r.device_total_ns > 0 ? r.device_total_ns : r.host_total_ns, r.occurrences); });
  c.add("host_mean_duration", "CPU time avg", Unit::time, kDataOnly,
        [](auto& r) { return mean(r.host_total_ns, r.occurrences); });
  if (has_device)
    c.add("device_mean_duration", "CUDA time avg", Unit::time, kDataOnly,
          [](auto& r) { return mean(r.device_total_ns, r.occurrences); });
  std::vector<i32> parents;
  for (const ModulePlace& place : modules.places) parents.push_back(place.parent);
  Table table = tree_table(c.table("Modules", modules.places), parents);
  if (modules.places.empty()) table.footer.push_back("Modules: not recorded (run with --with-modules)");
  if (!modules.places.empty() && !modules.has_backward)
    table.footer.push_back("Backward passes: the trace links no backward operator to a forward one");
  return table;
}

Table module_classes_table(const Model& model, const ModuleTree& modules, bool has_device) {
  std::vector<ModuleClass> classes = module_classes(model, modules);
  Columns<ModuleClass> c;
  c.add("name", "Class", Unit::text, 0, [](auto& r) { return r.name; });
  c.add("modules", "Modules", Unit::count, 1, [](auto& r) { return i64(r.modules); });
  add_module_costs(c, has_device);
  c.add("mean_duration", "Mean", Unit::time, 4,
        [](auto& r) { return mean(r.device_total_ns > 0 ? r.device_total_ns : r.host_total_ns, r.occurrences); });
  return c.table("Classes of modules", classes);
}

}  // namespace tprof
