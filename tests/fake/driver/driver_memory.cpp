// What the driver API's functions of memory, copies and fills do.
#include "driver_api.h"

namespace sim::driver_body {
namespace {

Driver& driver() { return *simcuda_driver(); }
void* at(u64 pointer) { return reinterpret_cast<void*>(pointer); }

int copy(void* to, const void* from, size_t bytes, int direction, Stream* stream, bool async) {
  if (bytes == 0) return kSuccess;
  Copy copy;
  copy.to = to;
  copy.from = from;
  copy.width = bytes;
  copy.direction = direction;
  copy.stream = stream;
  copy.async = async;
  return driver().copy(copy);
}

int fill(u64 to, u32 value, u32 element, size_t count, Stream* stream) {
  Fill fill;
  fill.to = at(to);
  fill.value = value;
  fill.element = element;
  fill.width = count;
  fill.stream = stream;
  return driver().fill(fill);
}

}  // namespace

int cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  Context* context = driver().current();
  if (context == nullptr) return kErrorDeviceUninitialized;
  u64 free, total;
  driver().memory_info(context->device->index, &free, &total);
  *free_bytes = free;
  *total_bytes = total;
  return kSuccess;
}

int cuMemAlloc_v2(u64* pointer, size_t bytes) {
  return driver().allocate(reinterpret_cast<void**>(pointer), bytes, MemoryKind::device, nullptr, nullptr);
}

int cuMemFree_v2(u64 pointer) { return driver().release(at(pointer), nullptr); }

int cuMemAllocHost_v2(void** pointer, size_t bytes) {
  return driver().allocate(pointer, bytes, MemoryKind::pinned, nullptr, nullptr);
}

int cuMemHostAlloc(void** pointer, size_t bytes, u32) { return cuMemAllocHost_v2(pointer, bytes); }

int cuMemFreeHost(void* pointer) { return driver().release(pointer, nullptr); }

int cuMemAllocManaged(u64* pointer, size_t bytes, u32) {
  return driver().allocate(reinterpret_cast<void**>(pointer), bytes, MemoryKind::managed, nullptr, nullptr);
}

int cuMemAllocAsync(u64* pointer, size_t bytes, void* stream) {
  Stream* where = api_stream(stream);
  if (where == nullptr) return kErrorInvalidResourceHandle;
  return driver().allocate(reinterpret_cast<void**>(pointer), bytes, MemoryKind::device, where,
                           driver().default_pool(where->context->device->index));
}

int cuMemFreeAsync(u64 pointer, void* stream) { return driver().release(at(pointer), api_stream(stream)); }

// 2: kind of memory; 3: its address for the device; 9: its device.
int cuPointerGetAttribute(void* value, int attribute, u64 pointer) {
  int device = 0;
  u64 base, bytes;
  MemoryKind kind = driver().kind_of(at(pointer), &device, &base, &bytes);
  if (kind == MemoryKind::unknown) return kErrorInvalidValue;
  switch (attribute) {
    case 2: *static_cast<u32*>(value) = kind == MemoryKind::pinned ? 1 : 2; return kSuccess;
    case 3: *static_cast<u64*>(value) = pointer; return kSuccess;
    case 9: *static_cast<int*>(value) = device; return kSuccess;
    default: return kErrorNotSupported;
  }
}

int cuMemGetAddressRange_v2(u64* base, size_t* bytes, u64 pointer) {
  int device;
  u64 begin, length;
  if (driver().kind_of(at(pointer), &device, &begin, &length) == MemoryKind::unknown) return kErrorInvalidValue;
  if (base != nullptr) *base = begin;
  if (bytes != nullptr) *bytes = length;
  return kSuccess;
}

int cuMemcpyHtoD_v2(u64 to, const void* from, size_t bytes) {
  return copy(at(to), from, bytes, 1, api_stream(nullptr), false);
}

int cuMemcpyDtoH_v2(void* to, u64 from, size_t bytes) {
  return copy(to, at(from), bytes, 2, api_stream(nullptr), false);
}

int cuMemcpyDtoD_v2(u64 to, u64 from, size_t bytes) {
  return copy(at(to), at(from), bytes, 3, api_stream(nullptr), false);
}

int cuMemcpyHtoDAsync_v2(u64 to, const void* from, size_t bytes, void* stream) {
  return copy(at(to), from, bytes, 1, api_stream(stream), true);
}

int cuMemcpyDtoHAsync_v2(void* to, u64 from, size_t bytes, void* stream) {
  return copy(to, at(from), bytes, 2, api_stream(stream), true);
}

int cuMemcpyDtoDAsync_v2(u64 to, u64 from, size_t bytes, void* stream) {
  return copy(at(to), at(from), bytes, 3, api_stream(stream), true);
}

int cuMemsetD8_v2(u64 to, u8 value, size_t count) { return fill(to, value, 1, count, api_stream(nullptr)); }

int cuMemsetD32_v2(u64 to, u32 value, size_t count) { return fill(to, value, 4, count, api_stream(nullptr)); }

int cuMemsetD8Async(u64 to, u8 value, size_t count, void* stream) {
  return fill(to, value, 1, count, api_stream(stream));
}

int cuMemsetD32Async(u64 to, u32 value, size_t count, void* stream) {
  return fill(to, value, 4, count, api_stream(stream));
}

// At once, as all work is; it leaves no record.
int cuStreamWriteValue32_v2(void* stream, u64 address, u32 value, u32) {
  if (api_stream(stream) == nullptr) return kErrorInvalidResourceHandle;
  *static_cast<u32*>(at(address)) = value;
  return kSuccess;
}

}  // namespace sim::driver_body
