// Allocation, pools, copies and fills.
#include <cstring>

#include "runtime.h"

namespace sim {

void* device_symbol(const void* host, size_t* bytes);

namespace {

int copy_line(void* to, const void* from, size_t bytes, int kind, Handle stream, bool async) {
  Copy copy;
  copy.to = to;
  copy.from = from;
  copy.width = bytes;
  copy.direction = kind;
  copy.stream = stream_of(stream);
  copy.async = async;
  return bytes == 0 ? int(kSuccess) : driver()->copy(copy);
}

int copy_plane(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, int kind,
               Handle stream, bool async) {
  if (width > to_pitch || width > from_pitch) return kErrorInvalidValue;
  Copy copy;
  copy.to = to;
  copy.from = from;
  copy.to_pitch = to_pitch;
  copy.from_pitch = from_pitch;
  copy.width = width;
  copy.height = height;
  copy.direction = kind;
  copy.stream = stream_of(stream);
  copy.async = async;
  return driver()->copy(copy);
}

int copy_box(const Copy3d& box, Handle stream, bool async) {
  if (box.from_array != nullptr || box.to_array != nullptr) return kErrorNotSupported;
  auto corner = [](const PitchedPointer& at, const Position& position) {
    return static_cast<char*>(at.pointer) + position.x + at.pitch * (position.y + at.height * position.z);
  };
  Copy copy;
  copy.to = corner(box.to, box.to_position);
  copy.from = corner(box.from, box.from_position);
  copy.to_pitch = box.to.pitch;
  copy.from_pitch = box.from.pitch;
  copy.to_slice = box.to.pitch * box.to.height;
  copy.from_slice = box.from.pitch * box.from.height;
  copy.width = box.extent.width;
  copy.height = box.extent.height;
  copy.depth = box.extent.depth;
  copy.direction = box.kind;
  copy.stream = stream_of(stream);
  copy.async = async;
  return driver()->copy(copy);
}

int copy_peer(void* to, int to_device, const void* from, int from_device, size_t bytes, Handle stream, bool async) {
  if (driver()->device(to_device) == nullptr || driver()->device(from_device) == nullptr) return kErrorInvalidDevice;
  Copy copy;
  copy.to = to;
  copy.from = from;
  copy.width = bytes;
  copy.direction = 3;
  copy.to_device = to_device;
  copy.from_device = from_device;
  copy.stream = stream_of(stream);
  copy.async = async;
  return driver()->copy(copy);
}

int copy_symbol(void* to, const void* from, size_t bytes, int kind, Handle stream, bool async) {
  return to == nullptr || from == nullptr ? int(kErrorInvalidValue) : copy_line(to, from, bytes, kind, stream, async);
}

void* symbol_at(const void* symbol, size_t offset) {
  size_t bytes;
  char* at = static_cast<char*>(device_symbol(symbol, &bytes));
  return at != nullptr ? at + offset : nullptr;
}

int fill(void* to, size_t pitch, int value, size_t width, size_t height, Handle stream) {
  Fill fill;
  fill.to = to;
  fill.value = u8(value);
  fill.width = width;
  fill.height = height;
  fill.pitch = pitch;
  fill.stream = stream_of(stream);
  return driver()->fill(fill);
}

}  // namespace

namespace body {

int cudaMalloc(void** pointer, size_t bytes) {
  return driver()->allocate(pointer, bytes, MemoryKind::device, nullptr, nullptr);
}

int cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return cudaMalloc(pointer, *pitch * height);
}

int cudaFree(void* pointer) { return driver()->release(pointer, nullptr); }

int cudaMallocHost(void** pointer, size_t bytes) {
  return driver()->allocate(pointer, bytes, MemoryKind::pinned, nullptr, nullptr);
}

int cudaFreeHost(void* pointer) { return driver()->release(pointer, nullptr); }

int cudaHostAlloc(void** pointer, size_t bytes, u32) { return cudaMallocHost(pointer, bytes); }

int cudaHostGetDevicePointer(void** device, void* host, u32) {
  *device = host;
  return kSuccess;
}

int cudaHostGetFlags(u32* flags, void*) {
  *flags = 0;
  return kSuccess;
}

int cudaHostRegister(void* pointer, size_t bytes, u32) {
  return driver()->adopt(pointer, bytes, MemoryKind::pinned, current_device());
}

int cudaHostUnregister(void* pointer) { return driver()->disown(pointer); }

int cudaMallocManaged(void** pointer, size_t bytes, u32) {
  return driver()->allocate(pointer, bytes, MemoryKind::managed, nullptr, nullptr);
}

int cudaMallocAsync(void** pointer, size_t bytes, Handle stream) {
  Stream* where = stream_of(stream);
  if (where == nullptr) return kErrorInvalidResourceHandle;
  Pool* pool = driver()->default_pool(where->context->device->index);
  return driver()->allocate(pointer, bytes, MemoryKind::device, where, pool);
}

int cudaMallocFromPoolAsync(void** pointer, size_t bytes, Handle pool, Handle stream) {
  return driver()->allocate(pointer, bytes, MemoryKind::device, stream_of(stream), static_cast<Pool*>(pool));
}

int cudaFreeAsync(void* pointer, Handle stream) {
  if (pointer == nullptr) return kErrorInvalidValue;
  Stream* where = stream_of(stream);
  return where != nullptr ? driver()->release(pointer, where) : int(kErrorInvalidResourceHandle);
}

int cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  u64 free, total;
  driver()->memory_info(current_context()->device->index, &free, &total);
  *free_bytes = free;
  *total_bytes = total;
  return kSuccess;
}

int cudaPointerGetAttributes(PointerAttributes* attributes, const void* pointer) {
  memset(attributes, 0, sizeof *attributes);
  u64 base, bytes;
  attributes->device = -2;
  MemoryKind kind = driver()->kind_of(pointer, &attributes->device, &base, &bytes);
  attributes->type = kind == MemoryKind::device    ? 2
                     : kind == MemoryKind::pinned  ? 1
                     : kind == MemoryKind::managed ? 3
                                                   : 0;
  if (attributes->type != 0) attributes->device_pointer = const_cast<void*>(pointer);
  if (attributes->type != 2) attributes->host_pointer = const_cast<void*>(pointer);
  return kSuccess;
}

int cudaDeviceGetDefaultMemPool(Handle* pool, int device) {
  if (driver()->device(device) == nullptr) return kErrorInvalidDevice;
  *pool = driver()->default_pool(device);
  return kSuccess;
}

int cudaDeviceGetMemPool(Handle* pool, int device) { return cudaDeviceGetDefaultMemPool(pool, device); }

int cudaMemPoolCreate(Handle* pool, const PoolProperties* properties) {
  if (driver()->device(properties->location.id) == nullptr) return kErrorInvalidDevice;
  *pool = driver()->create_pool(properties->location.id);
  return kSuccess;
}

int cudaMemPoolDestroy(Handle pool) { return driver()->destroy_pool(static_cast<Pool*>(pool)); }

int cudaMemPoolTrimTo(Handle pool, size_t kept_bytes) {
  return driver()->trim_pool(static_cast<Pool*>(pool), kept_bytes);
}

// 4: release threshold; 5, 6: reserved now and at most; 7, 8: used now and at most.
int cudaMemPoolSetAttribute(Handle pool, int attribute, void* value) {
  if (attribute == 4) static_cast<Pool*>(pool)->release_threshold = *static_cast<u64*>(value);
  return kSuccess;
}

int cudaMemPoolGetAttribute(Handle pool, int attribute, void* value) {
  const Pool& at = *static_cast<Pool*>(pool);
  if (attribute < 4)
    *static_cast<int*>(value) = 1;
  else if (attribute == 4)
    *static_cast<u64*>(value) = at.release_threshold;
  else
    *static_cast<u64*>(value) = attribute <= 6 ? at.reserved_bytes : at.used_bytes;
  return kSuccess;
}

int cudaMemPoolSetAccess(Handle pool, const void*, size_t) { return pool != nullptr ? kSuccess : kErrorInvalidValue; }

#if SIM_MAJOR >= 13
int cudaMemPrefetchAsync(const void*, size_t, Location, u32, Handle stream) {
#else
int cudaMemPrefetchAsync(const void*, size_t, int, Handle stream) {
#endif
  return stream_of(stream) != nullptr ? kSuccess : kErrorInvalidResourceHandle;
}

#if SIM_MAJOR >= 13
int cudaMemAdvise(const void*, size_t, int, Location) { return kSuccess; }
#else
int cudaMemAdvise(const void*, size_t, int, int) { return kSuccess; }
#endif

int cudaIpcGetMemHandle(void*, void*) { return kErrorNotSupported; }

int cudaIpcOpenMemHandle(void**, IpcHandle, u32) { return kErrorNotSupported; }

int cudaIpcCloseMemHandle(void*) { return kErrorNotSupported; }

int cudaMemcpy(void* to, const void* from, size_t bytes, int kind) {
  return copy_line(to, from, bytes, kind, nullptr, false);
}

int cudaMemcpyAsync(void* to, const void* from, size_t bytes, int kind, Handle stream) {
  return copy_line(to, from, bytes, kind, stream, true);
}

int cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                 int kind) {
  return copy_plane(to, to_pitch, from, from_pitch, width, height, kind, nullptr, false);
}

int cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                      int kind, Handle stream) {
  return copy_plane(to, to_pitch, from, from_pitch, width, height, kind, stream, true);
}

int cudaMemcpy3D(const Copy3d* copy) { return copy_box(*copy, nullptr, false); }

int cudaMemcpy3DAsync(const Copy3d* copy, Handle stream) { return copy_box(*copy, stream, true); }

int cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  return copy_peer(to, to_device, from, from_device, bytes, nullptr, false);
}

int cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes, Handle stream) {
  return copy_peer(to, to_device, from, from_device, bytes, stream, true);
}

int cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset, int kind) {
  return copy_symbol(symbol_at(symbol, offset), from, bytes, kind, nullptr, false);
}

int cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset, int kind,
                            Handle stream) {
  return copy_symbol(symbol_at(symbol, offset), from, bytes, kind, stream, true);
}

int cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset, int kind) {
  return copy_symbol(to, symbol_at(symbol, offset), bytes, kind, nullptr, false);
}

int cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset, int kind, Handle stream) {
  return copy_symbol(to, symbol_at(symbol, offset), bytes, kind, stream, true);
}

int cudaGetSymbolAddress(void** pointer, const void* symbol) {
  *pointer = symbol_at(symbol, 0);
  return *pointer != nullptr ? kSuccess : kErrorInvalidValue;
}

int cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  return device_symbol(symbol, bytes) != nullptr ? kSuccess : kErrorInvalidValue;
}

int cudaMemset(void* to, int value, size_t bytes) { return fill(to, bytes, value, bytes, 1, nullptr); }

int cudaMemsetAsync(void* to, int value, size_t bytes, Handle stream) {
  return fill(to, bytes, value, bytes, 1, stream);
}

int cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return fill(to, pitch, value, width, height, nullptr);
}

int cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height, Handle stream) {
  return fill(to, pitch, value, width, height, stream);
}

}  // namespace body
}  // namespace sim
