// Virtual memory management, on the host's own: reserved addresses, anonymous files as physical memory, mappings.
#include <sys/mman.h>
#include <unistd.h>

#include "driver_api.h"

namespace sim::driver_body {
namespace {

constexpr size_t kGranularity = 2 << 20;

void* at(u64 address) { return reinterpret_cast<void*>(address); }

}  // namespace

int cuMemGetAllocationGranularity(size_t* bytes, const AllocationProperties*, int) {
  *bytes = kGranularity;
  return kSuccess;
}

int cuMemAddressReserve(u64* address, size_t bytes, size_t, u64 wanted, u64) {
  if (bytes == 0 || bytes % kGranularity != 0) return kErrorInvalidValue;
  // Whole granules: as much more as the begin may be moved.
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* reserved = mmap(at(wanted), bytes + kGranularity, PROT_NONE, flags, -1, 0);
  if (reserved == MAP_FAILED) return kErrorMemoryAllocation;
  u64 begin = reinterpret_cast<u64>(reserved), rounded = (begin + kGranularity - 1) / kGranularity * kGranularity;
  if (rounded > begin) munmap(reserved, rounded - begin);
  munmap(at(rounded + bytes), begin + kGranularity - rounded);
  *address = rounded;
  return kSuccess;
}

int cuMemAddressFree(u64 address, size_t bytes) {
  return munmap(at(address), bytes) == 0 ? kSuccess : kErrorInvalidValue;
}

int cuMemCreate(Chunk** chunk, size_t bytes, const AllocationProperties* properties, u64) {
  if (bytes == 0 || bytes % kGranularity != 0) return kErrorInvalidValue;
  if (simcuda_driver()->device(properties->location_id) == nullptr) return kErrorInvalidDevice;
  int file = memfd_create("simulated device memory", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, off_t(bytes)) != 0) return kErrorMemoryAllocation;
  *chunk = new Chunk{file, bytes, properties->location_id};
  return kSuccess;
}

int cuMemRelease(Chunk* chunk) {
  if (chunk == nullptr) return kErrorInvalidValue;
  close(chunk->file);
  delete chunk;
  return kSuccess;
}

int cuMemMap(u64 address, size_t bytes, size_t offset, Chunk* chunk, u64) {
  if (chunk == nullptr || offset + bytes > chunk->bytes) return kErrorInvalidValue;
  if (mmap(at(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, chunk->file, off_t(offset)) == MAP_FAILED)
    return kErrorInvalidValue;
  return simcuda_driver()->adopt(at(address), bytes, MemoryKind::device, chunk->device);
}

int cuMemUnmap(u64 address, size_t bytes) {
  if (int failure = simcuda_driver()->disown(at(address))) return failure;
  void* back = mmap(at(address), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return back != MAP_FAILED ? kSuccess : kErrorInvalidValue;
}

int cuMemSetAccess(u64 address, size_t bytes, const void*, size_t) {
  return mprotect(at(address), bytes, PROT_READ | PROT_WRITE) == 0 ? kSuccess : kErrorInvalidValue;
}

int cuMemRetainAllocationHandle(Chunk**, void*) { return kErrorNotSupported; }

int cuMemGetAllocationPropertiesFromHandle(AllocationProperties*, Chunk*) { return kErrorNotSupported; }

int cuMemExportToShareableHandle(void*, Chunk*, int, u64) { return kErrorNotSupported; }

int cuMemImportFromShareableHandle(Chunk**, void*, int) { return kErrorNotSupported; }

}  // namespace sim::driver_body
