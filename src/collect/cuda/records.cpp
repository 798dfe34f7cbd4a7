#include "collect/cuda/records.h"

#include <limits.h>

namespace tprof {
namespace {

using namespace cupti;
using View = ActivityView;

// What every GPU activity has; the fields have the same names in all tables.
#define PLACE(record) \
  { v.get(record##_device), v.get(record##_context), v.get(record##_stream), v.get(record##_correlation) }

// CUPTI reports 0 for timestamps that it lost, sometimes for only one of the two.
template <class Record>
void stamp(GpuRecord& out, Record& record, u64 begin, u64 end) {
  bool lost = begin == 0 || end == 0 || end < begin;
  out.unfinished = begin != 0 && end == 0;
  record.begin_ns = lost ? 0 : begin;
  record.end_ns = lost ? 0 : end;
  out.begin_ns = record.begin_ns;
}

template <class Record>
void set_head(GpuRecord& out, Kind kind, Record& record, u32 correlation) {
  out.kind = kind;
  out.bytes = sizeof record;
  out.correlation = correlation;
}

void read_kernel(const View& v, GpuRecord& out) {
  KernelRecord& r = out.kernel;
  r = {};
  r.place = PLACE(kernel);
  set_head(out, Kind::kernel, r, r.place.correlation);
  stamp(out, r, v.get(kernel_begin), v.get(kernel_end));
  r.grid[0] = v.get(kernel_grid_x), r.grid[1] = v.get(kernel_grid_y), r.grid[2] = v.get(kernel_grid_z);
  r.block[0] = v.get(kernel_block_x), r.block[1] = v.get(kernel_block_y), r.block[2] = v.get(kernel_block_z);
  r.static_shared = v.get(kernel_static_shared);
  r.dynamic_shared = v.get(kernel_dynamic_shared);
  r.shared_executed = v.get(kernel_shared_executed);
  r.registers = v.get(kernel_registers);
  r.local_per_thread = v.get(kernel_local_per_thread);
  r.graph = v.get(kernel_graph);
  r.graph_node = v.get(kernel_graph_node);
  r.queued_ns = v.get(kernel_queued);
  r.submitted_ns = v.get(kernel_submitted);
  r.cluster[0] = v.get(kernel_cluster_x), r.cluster[1] = v.get(kernel_cluster_y),
  r.cluster[2] = v.get(kernel_cluster_z);
  r.priority = INT_MIN;
  out.name = v.get(kernel_name);
}

void read_memcpy(const View& v, GpuRecord& out) {
  CopyRecord& r = out.copy;
  r = {};
  r.place = PLACE(memcpy);
  set_head(out, Kind::copy, r, r.place.correlation);
  stamp(out, r, v.get(memcpy_begin), v.get(memcpy_end));
  out.id =
      v.get(memcpy_kind) | v.get(memcpy_from_kind) << 8 | v.get(memcpy_to_kind) << 16 | u32(v.get(memcpy_flags)) << 24;
  r.bytes = v.get(memcpy_bytes);
  r.graph_node = v.get(memcpy_graph_node);
  r.graph = v.get(memcpy_graph);
  r.from_device = r.to_device = r.place.device;
}

void read_memcpy_peer(const View& v, GpuRecord& out) {
  CopyRecord& r = out.copy;
  r = {};
  r.place = PLACE(memcpy_peer);
  set_head(out, Kind::copy, r, r.place.correlation);
  stamp(out, r, v.get(memcpy_peer_begin), v.get(memcpy_peer_end));
  out.id = v.get(memcpy_peer_kind) | v.get(memcpy_peer_from_kind) << 8 | v.get(memcpy_peer_to_kind) << 16 |
           u32(v.get(memcpy_peer_flags)) << 24;
  r.bytes = v.get(memcpy_peer_bytes);
  r.graph_node = v.get(memcpy_peer_graph_node);
  r.graph = v.get(memcpy_peer_graph);
  r.from_device = v.get(memcpy_peer_from_device);
  r.to_device = v.get(memcpy_peer_to_device);
}

void read_memset(const View& v, GpuRecord& out) {
  SetRecord& r = out.set;
  r = {};
  r.place = PLACE(memset);
  set_head(out, Kind::set, r, r.place.correlation);
  stamp(out, r, v.get(memset_begin), v.get(memset_end));
  out.id = v.get(memset_memory_kind) | u32(v.get(memset_flags)) << 8;
  r.bytes = v.get(memset_bytes);
  r.graph_node = v.get(memset_graph_node);
  r.graph = v.get(memset_graph);
  r.value = v.get(memset_value);
}

void read_api(const View& v, GpuRecord& out, u32 domain_bit) {
  ApiRecord& r = out.api;
  r = {};
  r.begin_ns = out.begin_ns = v.get(runtime_begin);
  r.end_ns = v.get(runtime_end);
  r.tid = v.get(runtime_thread);
  r.correlation = v.get(runtime_correlation);
  r.result = i32(v.get(runtime_result));
  r.cbid = v.get(runtime_cbid) | domain_bit;
  set_head(out, Kind::api, r, r.correlation);
}

void read_runtime(const View& v, GpuRecord& out) { read_api(v, out, 0); }
void read_driver(const View& v, GpuRecord& out) { read_api(v, out, kApiDriver); }

void read_sync(const View& v, GpuRecord& out) {
  SyncRecord& r = out.sync;
  r = {};
  r.begin_ns = out.begin_ns = v.get(sync_begin);
  r.end_ns = v.get(sync_end);
  r.place = {0xffffffff, v.get(sync_context), v.get(sync_stream), v.get(sync_correlation)};
  r.event = v.get(sync_event);
  r.event_sync = u32(v.get(sync_event_sync));
  out.id = v.get(sync_type);
  set_head(out, Kind::sync, r, r.place.correlation);
}

void read_event(const View& v, GpuRecord& out) {
  GpuEventRecord& r = out.event;
  r = {};
  r.place = {v.get(event_device, u32(0xffffffff)), v.get(event_context), v.get(event_stream), v.get(event_correlation)};
  r.device_ns = v.get(event_device_time);
  r.event_sync = u32(v.get(event_event_sync));
  out.id = v.get(event_event);
  set_head(out, Kind::gpu_event, r, r.place.correlation);
}

void read_overhead(const View& v, GpuRecord& out) {
  OverheadRecord& r = out.overhead;
  r = {};
  r.begin_ns = out.begin_ns = v.get(overhead_begin);
  r.end_ns = v.get(overhead_end);
  r.object_kind = v.get(overhead_object_kind);
  // The object is a union of numbers: (process, thread) or (device, context, stream).
  u32 part = r.object_kind == kObjectThread || r.object_kind == kObjectContext ? 1
             : r.object_kind == kObjectStream                                  ? 2
                                                                               : 0;
  r.object = v.get(Field<u32>{u16(overhead_object.at + 4 * part)});
  r.correlation = v.get(overhead_correlation);
  out.id = v.get(overhead_kind);
  set_head(out, Kind::overhead, r, r.correlation);
}

void read_memory(const View& v, GpuRecord& out) {
  GpuMemoryRecord& r = out.memory;
  r = {};
  r.ns = out.begin_ns = v.get(memory_time);
  r.address = v.get(memory_address);
  r.bytes = v.get(memory_bytes);
  r.place = PLACE(memory);
  r.pool = v.get(memory_pool);
  out.id = v.get(memory_operation) | v.get(memory_kind) << 8;
  set_head(out, Kind::gpu_memory, r, r.place.correlation);
}

void read_graph(const View& v, GpuRecord& out) {
  GraphRecord& r = out.graph;
  r = {};
  r.place = PLACE(graph);
  stamp(out, r, v.get(graph_begin), v.get(graph_end));
  out.id = v.get(graph_graph);
  set_head(out, Kind::graph, r, r.place.correlation);
}

void read_device(const View& v, GpuRecord& out) {
  DeviceRecord& r = out.device;
  r = {};
  r.total_memory = v.get(device_total_memory);
  r.compute_major = v.get(device_compute_major);
  r.compute_minor = v.get(device_compute_minor);
  r.multiprocessors = v.get(device_multiprocessors);
  r.warp_size = v.get(device_warp_size);
  r.max_threads_per_block = v.get(device_max_threads_per_block);
  r.max_threads_per_multiprocessor = v.get(device_max_warps) * r.warp_size;
  r.max_blocks_per_multiprocessor = v.get(device_max_blocks);
  r.registers_per_block = v.get(device_registers_per_block);
  r.registers_per_multiprocessor = v.get(device_registers_per_multiprocessor);
  r.shared_per_block = v.get(device_shared_per_block);
  r.shared_per_multiprocessor = v.get(device_shared_per_multiprocessor);
  r.clock_khz = v.get(device_clock_khz);
  r.memory_bandwidth = v.get(device_memory_bandwidth);
  r.l2_bytes = v.get(device_l2_bytes);
  if (const char* name = v.get(device_name)) strncpy(r.name, name, sizeof r.name - 1);
  out.id = v.get(device_id);
  set_head(out, Kind::device, r, 0);
}

void read_context(const View& v, GpuRecord& out) {
  ContextRecord& r = out.context;
  r = {};
  r.device = v.get(context_device);
  r.null_stream = v.get(context_null_stream);
  out.id = v.get(context_id);
  set_head(out, Kind::context, r, 0);
}

}  // namespace

void RecordSizes::probe(NextRecord next) {
  constexpr size_t kBufferBytes = 4096;  // several times the largest known record
  alignas(8) u8 buffer[kBufferBytes];
  constexpr u32 kinds[] = {
#define RECORD(name, number, kind) number,
#define FIELD(record, name, at, type, member)
#include "collect/cuda/cupti_records.def"
#undef FIELD
#undef RECORD
  };
  for (u32 kind : kinds) {
    memset(buffer, 0, sizeof buffer);
    for (size_t at = 0; at < kBufferBytes; at += 8) memcpy(buffer + at, &kind, sizeof kind);
    u8* record = nullptr;
    if (next(buffer, kBufferBytes, &record) != kSuccess || record != buffer) continue;
    if (next(buffer, kBufferBytes, &record) != kSuccess || record <= buffer || record >= buffer + kBufferBytes)
      continue;
    sizes_[kind] = u16(record - buffer);
  }
}

bool read_activity(const ActivityView& activity, GpuRecord& out) {
  switch (activity.kind()) {
#define RECORD(name, number, kind) \
  case number:                     \
    read_##name(activity, out);    \
    return true;
#define FIELD(record, name, at, type, member)
#include "collect/cuda/cupti_records.def"
#undef FIELD
#undef RECORD
  }
  return false;
}

}  // namespace tprof
