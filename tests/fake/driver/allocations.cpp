// Allocation and release, by every family of functions, and memory pools.
#include <algorithm>

#include "engine.h"

namespace sim {

int Engine::allocate(void** pointer, size_t bytes, MemoryKind kind, Stream* stream, Pool* pool) {
  if (pointer == nullptr) return kErrorInvalidValue;
  *pointer = nullptr;
  if (stream == nullptr && breaks_capture()) return kErrorStreamCaptureUnsupported;
  if (bytes == 0) return pool != nullptr ? kErrorInvalidValue : kSuccess;
  Stream* where = stream != nullptr ? stream : this->stream(nullptr, false);
  if (where == nullptr) return kErrorNoDevice;
  Device* device = pool != nullptr ? pool->device : where->context->device;
  bool grown = false;
  {
    Guard guard(mutex_);
    *pointer = memory_.allocate(bytes, kind, device->index, pool);
    if (*pointer == nullptr) return kErrorMemoryAllocation;
    if (pool != nullptr) {
      pool->used_bytes += bytes;
      grown = pool->reserved_bytes == 0;
      pool->reserved_bytes = std::max(pool->reserved_bytes, pool->used_bytes);
    }
  }
  if (Listener* listener = listener_) {
    u64 time = clock_.now();
    if (grown) listener->pool(PoolAction::created, *pool, time, 0, correlation());
    listener->memory({true, pool != nullptr, kind, reinterpret_cast<u64>(*pointer), bytes, time, correlation(),
                      u32(device->index), where->context->id, stream != nullptr ? stream->id : 0, pool});
  }
  return kSuccess;
}

int Engine::release(void* pointer, Stream* stream) {
  if (pointer == nullptr) return kSuccess;
  if (stream == nullptr && breaks_capture()) return kErrorStreamCaptureUnsupported;
  u64 time = clock_.now();
  Block was;
  {
    Guard guard(mutex_);
    u64 base;
    const Block* block = memory_.find(pointer, &base);
    if (block == nullptr || base != reinterpret_cast<u64>(pointer)) return kErrorInvalidValue;
    if (block->arena == nullptr) return kErrorInvalidValue;  // not ours to free
    memory_.release(pointer, &was);
    if (was.pool != nullptr) was.pool->used_bytes -= was.bytes;
  }
  if (Listener* listener = listener_) {
    Context* context = stream != nullptr ? stream->context : primary(was.device);
    listener->memory({false, stream != nullptr, was.kind, reinterpret_cast<u64>(pointer), was.bytes, time,
                      correlation(), u32(was.device), context->id, stream != nullptr ? stream->id : 0, was.pool});
  }
  return kSuccess;
}

int Engine::adopt(void* pointer, size_t bytes, MemoryKind kind, int device) {
  Guard guard(mutex_);
  u64 base;
  if (pointer == nullptr || bytes == 0) return kErrorInvalidValue;
  if (memory_.find(pointer, &base) != nullptr) return kErrorHostMemoryAlreadyRegistered;
  memory_.adopt(pointer, {bytes, kind, device, nullptr, nullptr});
  return kSuccess;
}

int Engine::disown(void* pointer) {
  Guard guard(mutex_);
  u64 base;
  const Block* block = memory_.find(pointer, &base);
  if (block == nullptr || base != reinterpret_cast<u64>(pointer) || block->arena != nullptr)
    return kErrorHostMemoryNotRegistered;
  Block was;
  memory_.release(pointer, &was);
  return kSuccess;
}

MemoryKind Engine::kind_of(const void* pointer, int* device, u64* base, u64* bytes) {
  Guard guard(mutex_);
  const Block* block = memory_.find(pointer, base);
  if (block == nullptr) return MemoryKind::unknown;
  *device = block->device;
  *bytes = block->bytes;
  return block->kind;
}

void Engine::memory_info(int device, u64* free_bytes, u64* total_bytes) {
  Guard guard(mutex_);
  *total_bytes = memory_.total();
  *free_bytes = memory_.total() - memory_.used(device);
}

Pool* Engine::create_pool(int device) {
  Pool* pool = new Pool;
  {
    Guard guard(mutex_);
    pool->device = devices_[device];
    pool->address = 0x7000000000 + 0x1000 * ++last_pool_;
    pool->reserved_bytes = 1;  // its creation is told here, not at its first allocation
  }
  if (Listener* listener = listener_) listener->pool(PoolAction::created, *pool, clock_.now(), 0, correlation());
  return pool;
}

int Engine::trim_pool(Pool* pool, u64 kept_bytes) {
  {
    Guard guard(mutex_);
    pool->reserved_bytes = std::max({pool->used_bytes, std::min(kept_bytes, pool->reserved_bytes), u64(1)});
  }
  if (Listener* listener = listener_)
    listener->pool(PoolAction::trimmed, *pool, clock_.now(), kept_bytes, correlation());
  return kSuccess;
}

int Engine::destroy_pool(Pool* pool) {
  for (Pool* fixed : default_pools_)
    if (pool == fixed) return kErrorInvalidValue;
  if (Listener* listener = listener_) listener->pool(PoolAction::destroyed, *pool, clock_.now(), 0, correlation());
  return kSuccess;
}

}  // namespace sim
