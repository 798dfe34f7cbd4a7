// Kernels, copies and fills: what they compute, and how long they take.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "engine.h"
#include "sim_kernel.h"
#include "switches.h"

namespace sim {
namespace {

constexpr u32 kMaxThreads = 1024;
constexpr u64 kLoading_ns = 20000;

// A symbol of the program: in the global scope, else in the library that the kernel comes from.
void* program_symbol(const std::string& name, const void* host) {
  if (void* found = dlsym(RTLD_DEFAULT, name.c_str())) return found;
  Dl_info info;
  if (host == nullptr || dladdr(host, &info) == 0) return nullptr;
  void* library = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  void* found = library != nullptr ? dlsym(library, name.c_str()) : nullptr;
  if (library != nullptr) dlclose(library);
  return found;
}

u64 threads_of(const Op& op) { return u64(op.grid.x) * op.grid.y * op.grid.z * op.block.x * op.block.y * op.block.z; }

// Bytes per nanosecond.
u64 speed(const Op& op) {
  if (op.copy_kind == CopyKind::dtod) return 1500;
  if (op.copy_kind == CopyKind::ptop) return 200;
  bool pageable = op.from_kind == MemoryKind::pageable || op.to_kind == MemoryKind::pageable;
  return pageable ? 6 : 25;
}

}  // namespace

Kernel* Engine::add_kernel(const void* host, const char* name) {
  Kernel* kernel = new Kernel;
  kernel->name = name;
  kernel->host = host;
  Guard guard(mutex_);
  kernels_[kernel] = kernel;
  if (host != nullptr) kernels_[host] = kernel;
  return kernel;
}

Kernel* Engine::find_kernel(const void* host_or_kernel) {
  Guard guard(mutex_);
  auto found = kernels_.find(host_or_kernel);
  return found != kernels_.end() ? found->second : nullptr;
}

// Lazy loading: the first use of a kernel finds its code.
void Engine::load(Kernel* kernel) {
  static std::mutex loading;
  Guard guard(loading);
  if (kernel->loaded) return;
  u64 begin = clock_.now();
  kernel->body = reinterpret_cast<decltype(kernel->body)>(program_symbol("simk_" + kernel->name, kernel->host));
  auto* attributes = static_cast<const SimAttributes*>(program_symbol("sima_" + kernel->name, kernel->host));
  if (attributes != nullptr) {
    kernel->registers = attributes->registers;
    kernel->shared_bytes = attributes->shared_bytes;
    kernel->local_bytes = attributes->local_bytes;
    kernel->duration_ns = attributes->duration_ns;
    u32 count = std::min<u32>(attributes->parameter_count, 16);
    kernel->parameter_bytes.assign(attributes->parameter_bytes, attributes->parameter_bytes + count);
  }
  if (kernel->registers == 0) kernel->registers = 16 + kernel->name.size() % 48;
  kernel->loaded = true;
  if (clock_.is_virtual()) clock_.sleep_until(begin + kLoading_ns);
  if (Listener* listener = listener_) listener->loading(begin, clock_.now(), correlation());
}

void Engine::describe(const Launch& launch, Op* op) {
  op->kind = Op::kernel;
  op->launched = launch.kernel;
  op->grid = launch.grid;
  op->block = launch.block;
  op->cluster = launch.cluster;
  op->shared_bytes = u32(launch.shared_bytes);
}

void Engine::describe(const Copy& copy, Op* op) {
  int from_device = 0, to_device = 0;
  u64 base;
  op->kind = Op::copy;
  op->bytes = u64(copy.width) * copy.height * copy.depth;
  op->async = copy.async;
  auto kind_at = [&](const void* pointer, int* device) {
    const Block* block = memory_.find(pointer, &base);
    if (block == nullptr) return MemoryKind::pageable;
    *device = block->device;
    return block->kind;
  };
  op->from_kind = kind_at(copy.from, &from_device);
  op->to_kind = kind_at(copy.to, &to_device);
  auto on_device = [](MemoryKind kind) { return kind == MemoryKind::device || kind == MemoryKind::managed; };
  bool from = copy.direction == 4 ? on_device(op->from_kind) : copy.direction & 2;
  bool to = copy.direction == 4 ? on_device(op->to_kind) : copy.direction == 1 || copy.direction == 3;
  op->copy_kind = from ? (to ? CopyKind::dtod : CopyKind::dtoh) : to ? CopyKind::htod : CopyKind::htoh;
  op->from_device = copy.from_device >= 0 ? copy.from_device : from_device;
  op->to_device = copy.to_device >= 0 ? copy.to_device : to_device;
  if (op->copy_kind == CopyKind::dtod && op->from_device != op->to_device) op->copy_kind = CopyKind::ptop;
}

void Engine::describe(const Fill& fill, Op* op) {
  u64 base;
  const Block* block = memory_.find(fill.to, &base);
  op->kind = Op::fill;
  op->bytes = u64(fill.width) * fill.element * fill.height * fill.depth;
  op->value = fill.value;
  op->to_kind = block != nullptr ? block->kind : MemoryKind::pageable;
}

u64 Engine::duration(const Op& op) const {
  if (op.kind == Op::copy) return 1500 + op.bytes / speed(op);
  if (op.kind == Op::fill) return 1500 + op.bytes / 1500;
  if (u64 fixed = number_of(Switch::SIMCUDA_KERNEL_NS)) return fixed;
  return op.launched->duration_ns != 0 ? op.launched->duration_ns : 2000 + threads_of(op) / 128;
}

void Engine::run(const Launch& launch, void** arguments) {
  if (launch.kernel->body != nullptr && arguments != nullptr)
    launch.kernel->body(arguments, launch.grid, launch.block, launch.shared_bytes);
}

void Engine::run(const Copy& copy) {
  for (size_t z = 0; z < copy.depth; z++) {
    for (size_t y = 0; y < copy.height; y++) {
      memmove(static_cast<char*>(copy.to) + z * copy.to_slice + y * copy.to_pitch,
              static_cast<const char*>(copy.from) + z * copy.from_slice + y * copy.from_pitch, copy.width);
    }
  }
}

void Engine::run(const Fill& fill) {
  for (size_t z = 0; z < fill.depth; z++) {
    for (size_t y = 0; y < fill.height; y++) {
      char* line = static_cast<char*>(fill.to) + z * fill.slice + y * fill.pitch;
      if (fill.element == 1)
        memset(line, int(fill.value), fill.width);
      else
        for (size_t x = 0; x < fill.width; x++) memcpy(line + x * fill.element, &fill.value, fill.element);
    }
  }
}

int Engine::launch(const Launch& launch) {
  if (launch.kernel == nullptr) return kErrorInvalidDeviceFunction;
  if (launch.stream == nullptr) return kErrorInvalidResourceHandle;
  u64 threads = u64(launch.block.x) * launch.block.y * launch.block.z;
  if (threads == 0 || threads > kMaxThreads || launch.grid.x == 0 || launch.grid.y == 0 || launch.grid.z == 0)
    return kErrorInvalidConfiguration;
  load(launch.kernel);
  Node node;
  node.kind = Node::kernel;
  node.launch = launch;
  if (capture(launch.stream, std::move(node))) return kSuccess;

  Op op;
  {
    Guard guard(mutex_);
    describe(launch, &op);
    mark(launch.stream, &op, launch.begin, launch.duration_ns);
  }
  run(launch, launch.arguments);
  if (Listener* listener = listener_) listener->op(op);
  return kSuccess;
}

int Engine::copy(const Copy& copy) {
  if (copy.stream == nullptr) return kErrorInvalidResourceHandle;
  if (copy.to == nullptr || copy.from == nullptr) return copy.width == 0 ? kSuccess : kErrorInvalidValue;
  Node node;
  node.kind = Node::copy;
  node.copying = copy;
  if (capture(copy.stream, std::move(node))) return kSuccess;
  Op op;
  {
    Guard guard(mutex_);
    describe(copy, &op);
    mark(copy.stream, &op);
  }
  run(copy);
  if (Listener* listener = listener_) listener->op(op);
  // Copies without a stream wait, unless both ends are on the device.
  if (!copy.async && op.copy_kind != CopyKind::dtod) clock_.sleep_until(op.end);
  return kSuccess;
}

int Engine::fill(const Fill& fill) {
  if (fill.stream == nullptr) return kErrorInvalidResourceHandle;
  if (fill.to == nullptr) return fill.width == 0 ? kSuccess : kErrorInvalidValue;
  Node node;
  node.kind = Node::fill;
  node.filling = fill;
  if (capture(fill.stream, std::move(node))) return kSuccess;
  Op op;
  {
    Guard guard(mutex_);
    describe(fill, &op);
    mark(fill.stream, &op);
  }
  run(fill);
  if (Listener* listener = listener_) listener->op(op);
  return kSuccess;
}

// Called at once, on the calling thread: earlier than a device would, which programs cannot rely upon.
int Engine::host_function(Stream* stream, HostFunction function, void* data) {
  if (stream == nullptr) return kErrorInvalidResourceHandle;
  Node node;
  node.kind = Node::host;
  node.function = function;
  node.function_data = data;
  if (capture(stream, std::move(node))) return kSuccess;
  function(data);
  return kSuccess;
}

}  // namespace sim
