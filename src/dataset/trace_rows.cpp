#include <cmath>

#include "analysis/tables/kernels.h"
#include "analysis/tables/operators.h"
#include "analysis/tables/tracks.h"
#include "dataset/rows.h"
#include "json/json.h"
#include "report/call_tables.h"
#include "report/stack_text.h"

namespace tprof::dataset {
namespace {

template <class Value>
may_be_integer known(bool is_known, Value value) {
  return is_known ? may_be_integer(integer(value)) : may_be_integer();
}

class TraceRows {
 public:
  TraceRows(Store& store, const Origin& origin, const Model& model, RowCounts& counts)
      : store_(store), origin_(origin), model_(model), counts_(counts) {}

  void write() {
    write_slices();
    OpTree tree = build_op_tree(model_);
    write_operators(operators(model_, tree, OperatorKey::name));
    write_memory(tree);
    write_kernels();
    write_samples();
    write_ledger();
  }

 private:
  template <class Row>
  Rows<Row> rows() {
    return store_.rows<Row>(origin_);
  }
  template <class Row>
  void finish(Rows<Row>& rows) {
    counts_[size_t(Row::kTable)] += rows.finish();
  }
  integer at(i64 ns) const { return i64(model_.base_time_ns) + ns; }
  may_be_text op_at(i32 event) const {
    return event < 0 ? may_be_text() : may_be_text(model_.name_of(model_.events[size_t(event)]));
  }

  void write_slices() {
    Tracks tracks = tracks_of(model_);
    Rows<row::slice> out = rows<row::slice>();
    for (const Track& track : tracks.tracks)
      for (size_t depth = 0; depth < track.rows.size(); depth++)
        for (size_t i = 0; i < track.rows[depth].n; i++)
          out.add(row_of(track, depth, tracks.slices[track.rows[depth].first + i]));
    finish(out);
  }

  row::slice row_of(const Track& track, size_t depth, const Slice& slice) const {
    row::slice out{.track = track.key,
                   .depth = integer(depth),
                   .kind = name_of(slice.kind),
                   .name = model_.names[slice.name],
                   .start_ns = at(slice.begin_ns),
                   .duration_ns = slice.dur_ns,
                   .thread = known(track.thread >= 0, track.thread)};
    if (slice.is_event()) return out;
    if (slice.is_call()) {
      const CallEvent& call = model_.calls[slice.source];
      out.correlation = known(call.correlation, call.correlation);
      out.op = op_at(call.op);
      return out;
    }
    const GpuEvent& work = model_.gpu[slice.source];
    bool on_device = track.kind != TrackKind::overhead;
    out.device = known(on_device && work.device != kNone, work.device);
    out.stream = known(on_device && work.stream != kNone, work.stream);
    out.correlation = known(work.correlation, work.correlation);
    out.op = op_at(work.op);
    return out;
  }

  void write_operators(const Operators& all) {
    Rows<row::op_agg> out = rows<row::op_agg>();
    for (const OperatorRow& r : all.rows) {
      bool is_op = r.kind != NodeKind::call, gpu = is_op && all.has_device, memory = is_op && all.has_memory;
      MemoryUse cpu_use = memory_of(r, 0), gpu_use = memory_of(r, kCudaDeviceType);
      out.add({.name = r.name,
               .kind = kind_text(r.kind),
               .calls = integer(r.calls),
               .host_self_ns = r.host_self_ns,
               .host_total_ns = r.host_total_ns,
               .device_self_ns = known(gpu, r.device_self_ns),
               .device_total_ns = known(gpu, r.device_total_ns),
               .tensor_self_ns = known(gpu && !r.tensor_self_unknown, r.tensor_self_ns),
               .tensor_total_ns = known(gpu && !r.tensor_total_unknown, r.tensor_total_ns),
               .cpu_self_bytes = known(memory, cpu_use.self_increase_bytes),
               .cpu_total_bytes = known(memory, cpu_use.increase_bytes),
               .gpu_self_bytes = known(memory && all.has_device, gpu_use.self_increase_bytes),
               .gpu_total_bytes = known(memory && all.has_device, gpu_use.increase_bytes)});
    }
    finish(out);
  }

  void write_kernels() {
    Rows<row::kernel_agg> out = rows<row::kernel_agg>();
    auto stated = [](double value) { return value < 0 ? may_be_real() : may_be_real(value); };
    for (const KernelRow& r : kernels_by_name(model_, RuleSet::tprof).rows)
      out.add({.name = r.name,
               .calls = integer(r.calls),
               .total_ns = r.total_ns,
               .min_ns = r.min_ns,
               .max_ns = r.max_ns,
               .tensor_cores = known(r.tensor_cores != TensorCoreUse::unknown, r.tensor_cores == TensorCoreUse::yes),
               .blocks_per_sm = stated(r.blocks_per_sm),
               .occupancy = stated(r.occupancy)});
    finish(out);
  }

  void write_memory(const OpTree& tree) {
    Rows<row::memory> out = rows<row::memory>();
    std::map<MemoryDevice, std::string> devices;
    for (size_t i = 0; i < model_.memory.size(); i++) {
      const MemoryEvent& e = model_.memory[i];
      MemoryDevice device{e.device_type, e.device_index};
      auto [text, is_new] = devices.try_emplace(device);
      if (is_new) text->second = device_text(device);
      bool totals = !(e.flags & kMemoryNoTotals);
      i32 node = tree.of_memory[i];
      out.add({.time_ns = at(e.ns),
               .device = text->second,
               .bytes = e.bytes,
               .address = integer(e.address),
               .allocated_bytes = known(totals, e.total_allocated),
               .reserved_bytes = known(totals, e.total_reserved),
               .failed = bool(e.flags & kMemoryOutOfMemory),
               .thread = model_.threads[e.thread].owner,
               .op = node < 0 ? may_be_text() : may_be_text(model_.names[tree.nodes[size_t(node)].name])});
    }
    finish(out);
  }

  void write_samples() {
    Rows<row::sample> out = rows<row::sample>();
    for (const StackSample& sample : model_.samples) {
      const TraceThread& thread = model_.threads[sample.thread];
      std::vector<u32> frames = frames_of(model_, sample.stack, 0);
      std::string stack = stack_text(model_, frames);
      bool lost = frames.empty();
      out.add({.time_ns = at(sample.ns),
               .thread = thread.owner,
               .thread_name = thread.name.empty() ? may_be_text() : may_be_text(thread.name),
               .frame = lost ? may_be_text() : may_be_text(model_.names[model_.stacks[frames[0]].text]),
               .stack = lost ? may_be_text() : may_be_text(stack),
               .on_cpu = bool(sample.flags & kSampleOnCpu),
               .gil = known(model_.sampled.knows_gil, bool(sample.flags & kSampleGil))});
    }
    finish(out);
  }

  void write_ledger() {
    Rows<row::ledger> out = rows<row::ledger>();
    auto number = [&](const std::string& name, i64 value) { out.add({.name = name, .number = value}); };
    if (auto ledger = model_.info.find("ledger"); ledger != model_.info.end())
      flatten(out, "", bounded_json(ledger->second));
    out.add({.name = "read.host", .message = model_.host});
    number("read.pid", model_.pid);
    if (model_.world_size >= 0) number("read.world_size", model_.world_size);
    number("read.start_ns", at(model_.begin_ns));
    number("read.duration_ns", model_.end_ns - model_.begin_ns);
    for (const auto& [what, count] : model_.ledger.repaired) number("read.repaired." + what, i64(count));
    for (const auto& [what, count] : model_.ledger.left_out) number("read.left_out." + what, i64(count));
    finish(out);
  }

  // A row for each value that is no object or list.
  static void flatten(Rows<row::ledger>& out, const std::string& name, const Json& value) {
    std::string before = name.empty() ? "" : name + ".";
    if (value.is_object())
      for (const auto& [key, inner] : value.items()) flatten(out, before + key, inner);
    else if (value.is_array())
      for (size_t i = 0; i < value.size(); i++) flatten(out, before + std::to_string(i), value[i]);
    else if (value.is_boolean())
      out.add({.name = name, .number = value.boolean()});
    else if (value.is_integer())
      out.add({.name = name, .number = value.integer()});
    else if (value.is_number())
      out.add({.name = name, .fraction = value.real()});
    else if (value.is_string())
      out.add({.name = name, .message = value.text()});
  }

  Store& store_;
  const Origin& origin_;
  const Model& model_;
  RowCounts& counts_;
};

}  // namespace

void write_trace(Store& store, const Origin& origin, const Model& model, RowCounts& counts) {
  TraceRows(store, origin, model, counts).write();
}

}  // namespace tprof::dataset
