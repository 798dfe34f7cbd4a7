#include "kineto/write/gpu.h"

#include <cmath>

#include "json/json.h"
#include "kineto/names.h"
#include "model/gpu/names.h"
#include "model/gpu/series.h"

namespace tprof::kineto {
namespace {

// Calls that launch GPU activities; the plugin links activities only to calls of category cuda_runtime.
bool is_launch(const Model& model, const CallEvent& call) {
  const std::string& name = model.names[call.name];
  return call.activities || name.starts_with("cuLaunch") || name.starts_with("cuGraphLaunch");
}

i64 signed_stream(u32 stream) { return stream == kNone ? -1 : i64(stream); }

}  // namespace

void GpuWriter::put_events() {
  for (const CallEvent& call : model_.calls) put_call(call);
  for (const GpuEvent& event : model_.gpu) {
    put_event(event);
    put_flow(event);
  }
}

void GpuWriter::put_counters() {
  for (const GpuSeries& series : gpu_series(model_)) {
    auto put = [&](const char* what, const char* key, double GpuSeries::Stretch::*value) {
      for (const GpuSeries::Stretch& s : series.stretches) put_counter(series.device, what, key, s.begin_ns, s.*value);
      put_counter(series.device, what, key, series.stretches.back().end_ns, 0);
    };
    put("Utilization", "GPU Utilization", &GpuSeries::Stretch::utilization);
    if (series.stretches.front().sm_efficiency >= 0)
      put("Est. SM Efficiency", "Est. SM Efficiency", &GpuSeries::Stretch::sm_efficiency);
  }
}

void GpuWriter::put_counter(u32 device, const char* what, const char* key, i64 ns, double value) {
  lines_.begin();
  out_.put(R"({"ph": "C", "name": "GPU )");
  out_.put_number(device);
  out_.put(" ");
  out_.put(what);
  out_.put(R"(", "pid": )");
  out_.put_number(device);
  out_.put(R"(, "tid": 0, "ts": )");
  out_.put_us(ns);
  out_.put(R"(, "args": {")");
  out_.put(key);
  out_.put("\": ");
  out_.put_number(value);
  out_.put("}}");
}

void GpuWriter::put_call(const CallEvent& call) {
  lines_.begin();
  bool driver = call.is_driver() && !is_launch(model_, call);
  out_.put(driver ? R"({"ph": "X", "cat": "cuda_driver", )" : R"({"ph": "X", "cat": "cuda_runtime", )");
  out_.put(lines_.name(call.name));
  out_.put(lines_.row(call.thread));
  out_.put("\"ts\": ");
  out_.put_us(call.begin_ns);
  out_.put(", \"dur\": ");
  out_.put_us(call.dur_ns);
  // The plugin would attribute a call without an id to the next module; 0 means none.
  out_.put(", \"args\": {");
  stacks_.put_call_stack(call.stack);
  out_.put("\"External id\": ");
  out_.put_number(call.op >= 0 ? lines_.external_id(call.op) : 0);
  first_arg_ = false;
  if (call.seen & kSeenByCupti) put_arg("cbid", i64(call.cbid));
  if (call.correlation) put_arg("correlation", i64(call.correlation));
  if (call.bytes) put_arg(kCallSize, i64(call.bytes));
  if (call.result) put_arg("result", i64(call.result));
  if (call.unfinished)
    out_.put(model_.process_ended_inside ? R"(, "tprof": "unfinished")" : R"(, "tprof": "clipped at window end")");
  close();
}

void GpuWriter::put_event(const GpuEvent& event) {
  switch (event.kind()) {
    case Kind::kernel: return put_kernel(event);
    case Kind::copy: return put_copy(event);
    case Kind::set: return put_set(event);
    case Kind::graph: return put_graph(event);
    case Kind::sync: return put_sync(event);
    case Kind::gpu_event: return put_event_record(event);
    default: return put_overhead(event);
  }
}

void GpuWriter::open(const char* category, std::string_view name, i64 pid, i64 tid, const GpuEvent& event) {
  lines_.begin();
  out_.put("{\"ph\": \"X\", \"cat\": \"");
  out_.put(category);
  out_.put("\", ");
  out_.put(name);
  out_.put("\"pid\": ");
  out_.put_number(pid);
  out_.put(", \"tid\": ");
  out_.put_number(tid);
  out_.put(", \"ts\": ");
  out_.put_us(event.begin_ns);
  out_.put(", \"dur\": ");
  out_.put_us(event.dur_ns);
  out_.put(", \"args\": {");
  first_arg_ = true;
  if (event.op >= 0) put_arg(kExternalId, i64(lines_.external_id(event.op)));
}

void GpuWriter::put_arg(const char* key, i64 value) {
  out_.put(first_arg_ ? "\"" : ", \"");
  first_arg_ = false;
  out_.put(key);
  out_.put("\": ");
  out_.put_number(value);
}

void GpuWriter::put_arg(const char* key, float value) {
  if (!std::isfinite(value)) return;  // JSON has no such number
  out_.put(first_arg_ ? "\"" : ", \"");
  first_arg_ = false;
  out_.put(key);
  out_.put("\": ");
  out_.put_number(value);
}

void GpuWriter::put_device_and_stream(const GpuEvent& event) {
  put_arg("device", i64(event.device));
  put_arg("context", i64(event.context));
  put_arg("stream", i64(event.stream));
  put_arg("correlation", i64(event.correlation));
}

void GpuWriter::put_size(u64 bytes, const GpuEvent& event) {
  put_arg("bytes", i64(bytes));
  if (event.bandwidth >= 0) put_arg("memory bandwidth (GB/s)", event.bandwidth);
}

void GpuWriter::put_node(u32 graph, u64 node) {
  if (!graph && !node) return;
  put_arg("graph id", i64(graph));
  put_arg("graph node id", i64(node));
}

void GpuWriter::put_kernel(const GpuEvent& event) {
  const auto& r = event.as<KernelRecord>();
  open(kKernel, lines_.name(event.name), event.device, event.stream, event);
  put_arg("queued", i64(r.queued_ns));
  put_device_and_stream(event);
  put_arg("registers per thread", i64(r.registers));
  put_arg("shared memory", i64(r.static_shared) + r.dynamic_shared);
  if (event.blocks_per_sm > 0) {
    put_arg("blocks per SM", event.blocks_per_sm);
    put_arg("warps per SM", event.warps_per_sm);
  }
  auto put_size3 = [&](const char* key, const auto& size) {
    out_.put(", \"");
    out_.put(key);
    for (int i = 0; i < 3; i++) {
      out_.put(i ? ", " : "\": [");
      out_.put_number(size[i]);
    }
    out_.put("]");
  };
  put_size3("grid", r.grid);
  put_size3("block", r.block);
  if (event.occupancy >= 0) put_arg("est. achieved occupancy %", i64(std::lround(event.occupancy)));
  put_node(r.graph, r.graph_node);
  if (r.priority != INT32_MIN) put_arg("priority", i64(r.priority));
  if (r.cluster[0]) put_size3("cluster", r.cluster);
  for (const Argument& argument : collectives_.of_kernel(u32(&event - model_.gpu.data()))) {
    out_.put(std::string(", \"") + argument.key + "\": ");
    out_.put(argument.is_number ? argument.value : json_ascii(argument.value));
  }
  close();
}

void GpuWriter::put_copy(const GpuEvent& event) {
  const auto& r = event.as<CopyRecord>();
  open(kGpuMemcpy, lines_.name(event.name), event.device, event.stream, event);
  if (r.from_device != r.to_device) {
    put_arg("fromDevice", i64(r.from_device));
    put_arg("inDevice", i64(event.device));
    put_arg("toDevice", i64(r.to_device));
  }
  put_device_and_stream(event);
  put_size(r.bytes, event);
  put_node(r.graph, r.graph_node);
  close();
}

void GpuWriter::put_set(const GpuEvent& event) {
  const auto& r = event.as<SetRecord>();
  open(kGpuMemset, lines_.name(event.name), event.device, event.stream, event);
  put_device_and_stream(event);
  put_size(r.bytes, event);
  put_node(r.graph, r.graph_node);
  close();
}

// A graph that was recorded as a whole: its kernels are not known, only the time that they took.
void GpuWriter::put_graph(const GpuEvent& event) {
  open(kKernel, lines_.name(event.name), event.device, event.stream, event);
  put_device_and_stream(event);
  put_arg("graph id", i64(event.record->id));
  close();
}

void GpuWriter::put_sync(const GpuEvent& event) {
  const auto& r = event.as<SyncRecord>();
  open(kCudaSync, lines_.name(event.name), event.device, sync_row(event.stream), event);
  out_.put(first_arg_ ? "\"cuda_sync_kind\": \"" : ", \"cuda_sync_kind\": \"");
  first_arg_ = false;
  out_.put(model_.names[event.name]);
  out_.put("\"");
  if (r.head.id == kEventSync || r.head.id == kStreamWaitEvent) {
    put_arg("wait_on_stream", signed_stream(event.wait_stream));
    put_arg("wait_on_cuda_event_record_corr_id", event.wait_correlation ? i64(event.wait_correlation) : -1);
    put_arg("wait_on_cuda_event_id", i64(r.event));
  }
  put_arg("stream", signed_stream(event.stream));
  put_arg("correlation", i64(event.correlation));
  put_arg("device", i64(event.device));
  put_arg("context", i64(event.context));
  close();
}

void GpuWriter::put_event_record(const GpuEvent& event) {
  open(kCudaEvent, lines_.name(event.name), event.device, event.stream, event);
  put_arg("event_id", i64(event.record->id));
  put_arg("stream", signed_stream(event.stream));
  put_arg("correlation", i64(event.correlation));
  put_arg("device", i64(event.device));
  put_arg("context", i64(event.context));
  close();
}

void GpuWriter::put_overhead(const GpuEvent& event) {
  const auto& r = event.as<OverheadRecord>();
  open(kOverhead, lines_.name(event.name), -1, r.object_kind == kObjectThread ? r.object : 0, event);
  close();
}

// An arrow from the call to its activity. Each arrow has an id of its own, since viewers end an id with its first head
// and confuse ids of different categories.
void GpuWriter::put_flow(const GpuEvent& event) {
  if (event.call == kNone || !event.runs_on_gpu()) return;
  const CallEvent& call = model_.calls[event.call];
  for (bool start : {true, false}) {
    lines_.begin();
    out_.put(start ? R"({"ph": "s", "id": )" : R"({"ph": "f", "id": )");
    out_.put_number(next_flow_);
    out_.put(", ");
    if (start) {
      out_.put(lines_.row(call.thread));
    } else {
      out_.put("\"pid\": ");
      out_.put_number(event.device);
      out_.put(", \"tid\": ");
      out_.put_number(event.stream);
      out_.put(", ");
    }
    out_.put("\"ts\": ");
    out_.put_us(start ? call.begin_ns : event.begin_ns);
    out_.put(start ? R"(, "cat": "ac2g", "name": "ac2g"})" : R"(, "cat": "ac2g", "name": "ac2g", "bp": "e"})");
  }
  next_flow_++;
}

}  // namespace tprof::kineto
