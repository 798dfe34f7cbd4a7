#include "collector.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "driver/attributes.h"
#include "results.h"
#include "switches.h"

namespace sim::cupti {
namespace {

thread_local std::vector<u64> external[kExternalKinds];
thread_local bool calling_back;

u32 thread_id(bool of_system) { return of_system ? u32(syscall(SYS_gettid)) : u32(u64(pthread_self())); }

// Every Nth, by a switch; 0 for never.
bool every(Switch which, u64 count) {
  u64 step = number_of(which);
  return step != 0 && count % step == 0;
}

// What CUPTI hands to callbacks of API calls.
struct CallbackData {
  u32 site;
  const char* function;
  const void* parameters;
  void* result;
  const char* symbol;
  void* context;
  u32 context_id;
  u64* scratch;
  u32 correlation;
};

}  // namespace

Collector& collector() {
  static Collector* one = new Collector;  // never destroyed: CUPTI's thread outlives main
  return *one;
}

int Collector::attach() {
  std::call_once(attaching_, [this] {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    auto get = library != nullptr ? reinterpret_cast<Driver* (*)()>(dlsym(library, "simcuda_driver")) : nullptr;
    if (get == nullptr) {
      why_not_ = generation().api >= 130000 ? kUnknown : kNotInitialized;
    } else if (get()->version() / 1000 < int(generation().cuda / 1000)) {
      why_not_ = kNotInitialized;
    } else {
      driver_ = get();
      driver_->listen(this);
    }
  });
  return why_not_;
}

int Collector::enable(u32 kind, bool on) {
  if (kind == 0 || kind >= kKinds || record_bytes(kind) == 0) return kInvalidKind;
  on_[kind] = on;
  if (on && kind == kDevice)
    for (int i = 0; i < driver_->device_count(); i++) tell_device(*driver_->device(i));
  // A real clock runs on by itself: CUPTI's thread looks what has ended. A virtual one moves in calls only.
  if (on) buffers_.every(driver_->virtual_time() ? nullptr : +[] {
    collector().collect(collector().driver_->now(), false);
  });
  return kSuccess;
}

// API calls -----------------------------------------------------------------------------------------------------

void Collector::enter(Call& call) { call_back(call, 0); }

void Collector::leave(Call& call) {
  u32 kind = call.domain == Domain::runtime ? kRuntime : kDriver;
  if (on(kind) && !muted_[int(call.domain)][call.cbid % kCallbackIds]) {
    for (u32 i = 0; on(kExternal) && i < kExternalKinds; i++) {
      if (external[i].empty()) continue;
      ExternalRecord record = {kExternal, i, external[i].back(), call.correlation, 0};
      buffers_.put(&record, kExternal, true);
    }
    ApiRecord record = {kind,          call.cbid,        call.begin,
                        call.end,      u32(getpid()),    thread_id(system_threads_),
                        call.correlation, u32(call.result)};
    buffers_.put(&record, kind, true);
  }
  call_back(call, 1);
  if (call.outer == nullptr && driver_->virtual_time()) collect(call.end, false);
}

void Collector::call_back(Call& call, u32 site) {
  Callback callback;
  void* user;
  {
    std::lock_guard guard(subscribing_);
    if (subscriber == nullptr || calling_back || !subscriber->wanted[int(call.domain)][call.cbid % kCallbackIds]) return;
    callback = subscriber->callback;
    user = subscriber->user;
  }
  Context* context = driver_->current();
  CallbackData data = {site,   call.name, call.parameters, site == 1 ? &call.result : nullptr,
                       call.symbol, context, context != nullptr ? context->id : 0, &call.scratch,
                       call.correlation};
  calling_back = true;
  callback(user, u32(call.domain), call.cbid, &data);
  calling_back = false;
}

void Collector::push_external(u32 kind, u64 id) { external[kind].push_back(id); }

bool Collector::pop_external(u32 kind, u64* id) {
  if (external[kind].empty()) return false;
  if (id != nullptr) *id = external[kind].back();
  external[kind].pop_back();
  return true;
}

// Work of the device --------------------------------------------------------------------------------------------

// Whether it is wanted is decided when it is enqueued; its record is there when it has ended, or later.
void Collector::op(const Op& op) {
  bool node = op.kind != Op::graph && op.graph_id != 0;
  bool wanted = op.kind == Op::kernel ? on(kKernel) || on(kConcurrentKernel)
                : op.kind == Op::copy ? on(op.copy_kind == CopyKind::ptop ? kMemcpy2 : kMemcpy)
                : op.kind == Op::fill ? on(kMemset)
                                      : on(kGraph);
  if (!wanted || (node && on(kGraph))) return;
  std::lock_guard guard(pending_mutex_);
  pending_.emplace(op.end + number_of(Switch::SIMCUPTI_LATE_NS), op);
}

void Collector::collect(u64 until, bool forced) {
  std::vector<std::pair<Op, bool>> ready;
  {
    std::lock_guard guard(pending_mutex_);
    auto end = pending_.upper_bound(until);
    for (auto at = pending_.begin(); at != end; ++at) ready.emplace_back(at->second, true);
    pending_.erase(pending_.begin(), end);
    // What is still running is handed over unfinished, once.
    if (forced) {
      for (auto& [time, op] : pending_) ready.emplace_back(op, false);
      pending_.clear();
    }
  }
  if (number_of(Switch::SIMCUPTI_SHUFFLE) != 0) std::vector(ready.rbegin(), ready.rend()).swap(ready);
  for (auto& [op, complete] : ready) emit(op, complete);
}

void Collector::emit(Op op, bool complete) {
  device_records_++;
  if (every(Switch::SIMCUPTI_LOSE, device_records_)) return;
  if (every(Switch::SIMCUPTI_DROP, device_records_)) return buffers_.count_dropped();
  op.begin -= number_of(Switch::SIMCUPTI_EARLY_NS);
  op.end -= number_of(Switch::SIMCUPTI_EARLY_NS);
  if (!complete) op.end = 0;
  if (every(Switch::SIMCUPTI_ZERO_TIME, device_records_)) op.begin = op.end = 0;
  auto copy_dim = [](i32* to, const Dim& from) {
    to[0] = i32(from.x);
    to[1] = i32(from.y);
    to[2] = i32(from.z);
  };
  if (op.kind == Op::kernel) {
    KernelRecord record = {};
    record.kind = on(kKernel) && !on(kConcurrentKernel) ? kKernel : kConcurrentKernel;
    record.registers = u16(op.launched->registers);
    record.start = op.begin;
    record.end = record.completed = op.end;
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
    record.start = op.begin;
    record.end = op.end;
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
    record.start = op.begin;
    record.end = op.end;
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
    record.start = op.begin;
    record.end = op.end;
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
    record.start = op.begin;
    record.end = op.end;
    record.device = record.end_device = op.device;
    record.context = record.end_context = op.context;
    record.graph = op.graph_id;
    record.stream = op.stream;
    buffers_.put(&record, kGraph, false);
  }
}

void Collector::flush(bool forced) {
  collect(driver_->now(), forced);
  u64 begin = driver_->now();
  if (buffers_.flush()) overhead(0x10000, begin, driver_->now(), 0);  // of the flush itself, in the next buffer
}

// The rest ------------------------------------------------------------------------------------------------------

void Collector::sync(const Sync& sync) {
  if (!on(kSync)) return;
  SyncRecord record = {kSync,        u32(sync.kind), sync.begin,  sync.end, sync.correlation,
                       sync.context, sync.stream,    sync.event, 0,        0,
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
  record.time = event.time;
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
  record.time = time;
  record.used = pool.used_bytes;
  buffers_.put(&record, kPool, true);
}

void Collector::context(const Context& context) {
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
  record.object[1] = thread_id(system_threads_);
  record.start = begin;
  record.end = end;
  record.correlation = correlation;
  buffers_.put(&record, kOverhead, true);
}

}  // namespace sim::cupti
