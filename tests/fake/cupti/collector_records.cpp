// How each thing that the simulated driver tells becomes a record.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "collector.h"
#include "driver/attributes.h"

namespace sim::cupti {
namespace {

constexpr u32 kResources = 3, kContextCreated = 1, kStreamCreated = 3;  // a callback domain, and ids in it

// What CUPTI hands to callbacks of that domain.
struct Resource {
  const Context* context;
  const Stream* stream;
  const void* more;
};

}  // namespace

// An operation of the device, as its faults have left it.
void Collector::tell(const Op& op) {
  auto copy_dim = [](i32* to, const Dim& from) {
    to[0] = i32(from.x);
    to[1] = i32(from.y);
    to[2] = i32(from.z);
  };
  if (op.kind == Op::kernel) {
    KernelRecord record = {};
    record.kind = on(kKernel) && !on(kConcurrentKernel) ? kKernel : kConcurrentKernel;
    record.registers = u16(op.launched->registers);
    record.start = told(op.begin);
    record.end = record.completed = told(op.end);
    record.device = op.device;
    record.context = op.context;
    record.stream = op.stream;
    copy_dim(record.grid, op.grid);
    copy_dim(record.block, op.block);
    record.static_shared = i32(op.launched->shared_bytes);
    record.dynamic_shared = i32(op.shared_bytes);
    record.local_per_thread = op.launched->local_bytes;
    record.correlation = op.correlation;
    record.grid_id = i64(device_records_);
    record.name = op.launched->name.c_str();
    record.shared_executed = 102400;
    record.graph_node = op.graph_node;
    record.graph = op.graph_id;
    copy_dim(reinterpret_cast<i32*>(record.cluster), op.cluster);
    buffers_.put(&record, record.kind, false);
  } else if (op.kind == Op::copy && op.copy_kind == CopyKind::ptop) {
    Memcpy2Record record = {};
    record.kind = kMemcpy2;
    record.copy_kind = u8(op.copy_kind);
    record.from_kind = u8(op.from_kind);
    record.to_kind = u8(op.to_kind);
    record.flags = op.async;
    record.bytes = op.bytes;
    record.start = told(op.begin);
    record.end = told(op.end);
    record.device = op.device;
    record.context = op.context;
    record.stream = op.stream;
    record.from_device = op.from_device;
    record.to_device = op.to_device;
    record.from_context = driver_->primary(int(op.from_device))->id;
    record.to_context = driver_->primary(int(op.to_device))->id;
    record.correlation = op.correlation;
    record.graph_node = op.graph_node;
    record.graph = op.graph_id;
    buffers_.put(&record, kMemcpy2, false);
  } else if (op.kind == Op::copy) {
    MemcpyRecord record = {};
    record.kind = kMemcpy;
    record.copy_kind = u8(op.copy_kind);
    record.from_kind = u8(op.from_kind);
    record.to_kind = u8(op.to_kind);
    record.flags = op.async;
    record.bytes = op.bytes;
    record.start = told(op.begin);
    record.end = told(op.end);
    record.device = op.device;
    record.context = op.context;
    record.stream = op.stream;
    record.correlation = op.correlation;
    record.graph_node = op.graph_node;
    record.graph = op.graph_id;
    record.count = 1;
    buffers_.put(&record, kMemcpy, false);
  } else if (op.kind == Op::fill) {
    MemsetRecord record = {};
    record.kind = kMemset;
    record.value = op.value;
    record.bytes = op.bytes;
    record.start = told(op.begin);
    record.end = told(op.end);
    record.device = op.device;
    record.context = op.context;
    record.stream = op.stream;
    record.correlation = op.correlation;
    record.memory_kind = u16(op.to_kind);
    record.graph_node = op.graph_node;
    record.graph = op.graph_id;
    buffers_.put(&record, kMemset, false);
  } else {
    GraphRecord record = {};
    record.kind = kGraph;
    record.correlation = op.correlation;
    record.start = told(op.begin);
    record.end = told(op.end);
    record.device = record.end_device = op.device;
    record.context = record.end_context = op.context;
    record.graph = op.graph_id;
    record.stream = op.stream;
    buffers_.put(&record, kGraph, false);
  }
}

void Collector::sync(const Sync& sync) {
  if (!on(kSync)) return;
  u64 begin = told(sync.begin), end = told(sync.end);
  SyncRecord record = {kSync, u32(sync.kind), begin, end, sync.correlation, sync.context, sync.stream, sync.event, 0, 0,
                       0};
  buffers_.put(&record, kSync, true);
}

void Collector::event(const EventRecord& event) {
  if (!on(kEvent)) return;
  CudaEventRecord record = {};
  record.kind = kEvent;
  record.correlation = event.correlation;
  record.context = event.context;
  record.stream = event.stream;
  record.event = event.event;
  record.device = event.device;
  buffers_.put(&record, kEvent, true);
}

void Collector::memory(const MemoryEvent& event) {
  if (!on(kMemory2)) return;
  MemoryRecord record = {};
  record.kind = kMemory2;
  record.operation = event.allocated ? 1 : 2;
  record.memory_kind = u32(event.kind);
  record.correlation = event.correlation;
  record.address = event.address;
  record.bytes = event.bytes;
  record.time = told(event.time);
  record.process = u32(getpid());
  record.device = event.device;
  record.context = event.context;
  record.stream = event.stream;
  record.async = event.async;
  if (event.pool != nullptr) {
    record.pool_type = 1;
    record.pool_address = event.pool->address;
    record.pool_threshold = event.pool->release_threshold;
    record.pool_size = event.pool->reserved_bytes;
    record.pool_used = event.pool->used_bytes;
  }
  buffers_.put(&record, kMemory2, true);
}

void Collector::pool(PoolAction action, const Pool& pool, u64 time, u64 kept_bytes, u32 correlation) {
  if (!on(kPool)) return;
  PoolRecord record = {};
  record.kind = kPool;
  record.operation = u32(action);
  record.pool_type = 1;
  record.correlation = correlation;
  record.process = u32(getpid());
  record.device = u32(pool.device->index);
  record.kept_bytes = kept_bytes;
  record.address = pool.address;
  record.size = pool.reserved_bytes;
  record.threshold = pool.release_threshold;
  record.time = told(time);
  record.used = pool.used_bytes;
  buffers_.put(&record, kPool, true);
}

void Collector::context(const Context& context) {
  Resource created = {&context, nullptr, nullptr};
  call_back(kResources, kContextCreated, &created);
  if (on(kContext)) tell(context);
}

void Collector::tell(const Context& context) {
  ContextRecord record = {};
  record.kind = kContext;
  record.context = context.id;
  record.device = u32(context.device->index);
  record.api_kind = 1;
  record.null_stream = context.legacy != nullptr ? u16(context.legacy->id) : 7;
  record.parent = context.id;
  record.multiprocessors = u16(device_attribute(*context.device, Attribute::multiprocessors));
  buffers_.put(&record, kContext, true);
}

void Collector::stream(const Stream& stream, u32 correlation) {
  Resource created = {stream.context, &stream, nullptr};
  call_back(kResources, kStreamCreated, &created);
  if (on(kStream)) tell(stream, correlation);
}

void Collector::tell(const Stream& stream, u32 correlation) {
  u32 flag = stream.context->legacy == &stream ? 3 : stream.blocking ? 1 : 2;
  StreamRecord record = {kStream, stream.context->id, stream.id, u32(stream.priority), flag, correlation};
  buffers_.put(&record, kStream, true);
}

void Collector::tell_device(const Device& device) {
  auto attribute = [&](Attribute which) { return u32(device_attribute(device, which)); };
  DeviceRecord record = {};
  record.kind = kDevice;
  record.flags = 1;  // concurrent kernels
  record.bandwidth = device.memory_bytes_per_s / 1000;
  record.memory_bytes = device.memory_bytes;
  record.constant_bytes = attribute(Attribute::constant_memory);
  record.l2_bytes = attribute(Attribute::l2_bytes);
  record.warp_size = attribute(Attribute::warp_size);
  record.clock_khz = attribute(Attribute::clock_khz);
  record.copy_engines = attribute(Attribute::copy_engines);
  record.multiprocessors = attribute(Attribute::multiprocessors);
  record.warps_per_multiprocessor = attribute(Attribute::threads_per_multiprocessor) / record.warp_size;
  record.blocks_per_multiprocessor = attribute(Attribute::blocks_per_multiprocessor);
  record.shared_per_multiprocessor = attribute(Attribute::shared_per_multiprocessor);
  record.registers_per_multiprocessor = attribute(Attribute::registers_per_multiprocessor);
  record.registers_per_block = attribute(Attribute::registers_per_block);
  record.shared_per_block = attribute(Attribute::shared_per_block);
  record.threads_per_block = attribute(Attribute::threads_per_block);
  for (int i = 0; i < 3; i++) {
    record.block[i] = attribute(Attribute(int(Attribute::block_x) + i));
    record.grid[i] = attribute(Attribute(int(Attribute::grid_x) + i));
  }
  record.major = attribute(Attribute::major);
  record.minor = attribute(Attribute::minor);
  record.id = u32(device.index);
  memcpy(record.uuid, device.uuid, sizeof record.uuid);
  record.name = device.name;
  record.visible = 1;
  buffers_.put(&record, kDevice, true);
}

void Collector::dump(u32 kind) {
  for (Context* context : driver_->contexts()) {
    if (kind == kContext) tell(*context);
    for (Stream* stream : context->streams)
      if (kind == kStream) tell(*stream, 0);
  }
}

void Collector::loading(u64 begin, u64 end, u32 correlation) { overhead(0x50000, begin, end, correlation); }

void Collector::overhead(u32 type, u64 begin, u64 end, u32 correlation) {
  if (!on(kOverhead)) return;
  OverheadRecord record = {};
  record.kind = kOverhead;
  record.overhead = type;
  record.object_kind = 2;  // a thread
  record.object[0] = u32(getpid());
  record.object[1] = thread_id();
  record.start = told(begin);
  record.end = told(end);
  record.correlation = correlation;
  buffers_.put(&record, kOverhead, true);
}

}  // namespace sim::cupti
