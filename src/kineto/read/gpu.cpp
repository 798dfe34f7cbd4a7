// GPU activities of a trace, as the records that CUPTI would have delivered.
#include <string.h>

#include "kineto/names.h"
#include "kineto/read/state.h"
#include "model/gpu/names.h"

namespace tprof::kineto {
namespace {

constexpr u32 kMaxDevices = 1024;

template <size_t N, class T>
void read_sizes(const Value& list, T (&out)[N]) {
  size_t i = 0;
  for (const Value& size : list.elements())
    if (i < N) out[i++] = static_cast<T>(u32_of(size, 0));
}

u64 u64_of(const Value& value) { return u64(integer_of(value).value_or(0)); }

KernelRecord kernel_record(const EventFields& f) {
  KernelRecord r{};
  read_sizes(f.arg("grid"), r.grid);
  read_sizes(f.arg("block"), r.block);
  read_sizes(f.arg("cluster"), r.cluster);
  r.registers = u16(u32_of(f.arg("registers per thread"), 0));
  r.static_shared = i32(u32_of(f.arg("shared memory"), 0));  // static and dynamic together
  r.graph = u32_of(f.arg("graph id"), 0);
  r.graph_node = u64_of(f.arg("graph node id"));
  r.queued_ns = u64_of(f.arg("queued"));
  std::optional<i64> priority = integer_of(f.arg("priority"));
  r.priority = priority ? i32(*priority) : INT32_MIN;
  return r;
}

CopyRecord copy_record(const EventFields& f, u32 device) {
  CopyRecord r{};
  r.bytes = u64_of(f.arg("bytes"));
  r.graph = u32_of(f.arg("graph id"), 0);
  r.graph_node = u64_of(f.arg("graph node id"));
  r.from_device = u32_of(f.arg("fromDevice"), device);
  r.to_device = u32_of(f.arg("toDevice"), device);
  return r;
}

SetRecord set_record(const EventFields& f) {
  SetRecord r{};
  r.bytes = u64_of(f.arg("bytes"));
  r.graph = u32_of(f.arg("graph id"), 0);
  r.graph_node = u64_of(f.arg("graph node id"));
  return r;
}

// Its row is that of the thread that had it, 0 if none is known.
OverheadRecord overhead_record(ReadState& state, const EventFields& f) {
  OverheadRecord r{};
  i64 tid = state.rows.stream_number(*f.tid);
  if (tid <= 0 || tid >= i64(kNone)) return r;
  r.object_kind = kObjectThread;
  r.object = u32(tid);
  return r;
}

template <class T>
const RecordHead* keep(Model& model, T record, Kind kind, u32 id) {
  record.head = {u16(kind), u16(sizeof record / 8), id};
  return reinterpret_cast<const RecordHead*>(model.arena.copy(&record, sizeof record));
}

const RecordHead* record_of(ReadState& state, Kind kind, const EventFields& f, const GpuEvent& e) {
  Model& model = state.model;
  u32 id = activity_id(kind, f.name);
  switch (kind) {
    case Kind::kernel: return keep(model, kernel_record(f), kind, 0);
    case Kind::copy: return keep(model, copy_record(f, e.device), kind, id);
    case Kind::set: return keep(model, set_record(f), kind, id);
    case Kind::graph: return keep(model, GraphRecord{}, kind, id);
    case Kind::gpu_event: return keep(model, GpuEventRecord{}, kind, u32_of(f.arg("event_id"), 0));
    case Kind::sync: {
      SyncRecord r{};
      r.event = u32_of(f.arg("wait_on_cuda_event_id"), 0);
      return keep(model, r, kind, id);
    }
    default: return keep(model, overhead_record(state, f), kind, id);
  }
}

// libkineto copies the arguments of the operator record_param_comms to the kernels of the collective.
void add_collective(ReadState& state, const EventFields& f) {
  if (!f.arg(kCollectiveName).is_text()) return;
  Collective c = collective_of(state, f);
  c.gpu = u32(state.model.gpu.size());
  state.model.collectives.push_back(c);
}

}  // namespace

void add_gpu_event(ReadState& state, Kind kind, const EventFields& f) {
  if (kind == Kind::kernel && f.arg("graph id").is_number() && f.arg("grid").is_null() &&
      f.name.starts_with("CUDA graph "))
    kind = Kind::graph;
  GpuEvent e;
  e.begin_ns = f.begin_ns;
  e.dur_ns = f.dur_ns;
  e.name = state.names(f.name);
  if (kind == Kind::overhead) {
    e.device = e.stream = kNone;
  } else {
    i64 pid = state.rows.number(*f.pid), tid = state.rows.stream_number(*f.tid);
    e.device = u32_of(f.arg("device"), pid >= 0 && pid < kMaxDevices ? u32(pid) : kNone);
    bool none = f.arg("stream").is_i64() && f.arg("stream").as_i64() < 0;  // a wait without a stream
    e.stream = none ? kNone : u32_of(f.arg("stream"), tid >= 0 && tid < i64(kNone) ? u32(tid) : kNone);
    e.context = u32_of(f.arg("context"), 0);
    if (e.device == kNone && kind != Kind::sync && kind != Kind::gpu_event) state.model.ledger.repaired["no_device"]++;
  }
  e.correlation = u32_of(f.arg(kCorrelation), 0);
  e.wait_stream = u32_of(f.arg("wait_on_stream"), kNone);
  e.wait_correlation = u32_of(f.arg("wait_on_cuda_event_record_corr_id"), 0);
  e.record = record_of(state, kind, f, e);
  if (kind == Kind::kernel) {
    e.blocks_per_sm = figure_of(f.arg("blocks per SM"));
    e.warps_per_sm = figure_of(f.arg("warps per SM"));
    e.occupancy = figure_of(f.arg("est. achieved occupancy %"));
    if (e.blocks_per_sm == 0) e.blocks_per_sm = -1;
    add_collective(state, f);
  } else {
    e.bandwidth = figure_of(f.arg("memory bandwidth (GB/s)"));
  }
  state.model.gpu.push_back(e);
  state.gpu_ids.push_back(f.external_id);
  state.gpu_correlations.push_back(f.correlation);
}

DeviceRecord device_of(const Value& properties) {
  DeviceRecord d{};
  d.head.kind = u16(Kind::device);
  d.head.words = sizeof d / 8;
  auto number = [&](const char* key) { return u32_of(member(properties, key), 0); };
  d.head.id = number("id");
  d.total_memory = u64_of(member(properties, "totalGlobalMem"));
  d.compute_major = number("computeMajor");
  d.compute_minor = number("computeMinor");
  d.multiprocessors = number("numSms");
  d.warp_size = number("warpSize");
  d.max_threads_per_block = number("maxThreadsPerBlock");
  d.max_threads_per_multiprocessor = number("maxThreadsPerMultiprocessor");
  d.registers_per_block = number("regsPerBlock");
  d.registers_per_multiprocessor = number("regsPerMultiprocessor");
  d.shared_per_block = number("sharedMemPerBlock");
  d.shared_per_block_optin = number("sharedMemPerBlockOptin");
  d.shared_per_multiprocessor = number("sharedMemPerMultiprocessor");
  if (!d.shared_per_multiprocessor) d.shared_per_multiprocessor = number("maxSharedMemoryPerMultiProcessor");  // ROCm
  std::string_view name = text_of(member(properties, "name"));
  name = name.substr(0, sizeof d.name - 1);
  name.copy(d.name, name.size());
  return d;
}

}  // namespace tprof::kineto
