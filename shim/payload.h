// The words that describe the payload of a row in hooks.def, in the order of CallPayload's members.
#pragma once
#include "abi.h"
#include "base/types.h"
#include "collect/cuda/comms.h"

#define AT(what) .address = tprof::u64(what)
#define MADE(what) .address = ok ? tprof::u64(what) : 0
#define BYTES(count) .bytes = count
#define COUNT(count) .bytes = count
#define ON(handle) .stream = tprof::u64(handle)
#define HERE .device = ok ? device_of(caller) : -1
#define DEVICE(what) .device = ok ? (what) : -1
#define KIND(number) .detail = tprof::u32(number)
#define TYPE(number) .detail = tprof::u32(number)
#define AMONG(comm, root) .on = on_comm(comm, root, true, caller)
#define BETWEEN(comm, peer) .on = on_comm(comm, peer, false, caller)
#define MADE_COMM(comm, group, ranks, rank) .on = ok ? comm_made(comm, group, ranks, rank) : no_comm()
#define GONE(comm) .on = comm_gone(comm)

namespace tprof {

inline u64 bytes_of(const Extent& e) { return u64(e.width) * e.height * e.depth; }

// The height or depth of an array that lacks it is 0.
inline u64 bytes_of(const ChannelFormat& f, const Extent& e) {
  u64 elements = u64(e.width) * (e.height ? e.height : 1) * (e.depth ? e.depth : 1);
  return elements * u64(f.x + f.y + f.z + f.w) / 8;
}

// If an array takes part, the extent counts elements, whose size is not known here; the result is then 0 for unknown.
template <class Copy>
u64 bytes_of(const Copy* copy) {
  return !copy || copy->source_array || copy->target_array ? 0 : bytes_of(copy->extent);
}

template <class Copy>
u64 target_of(const Copy* copy) {
  return !copy ? 0 : u64(copy->target_array ? copy->target_array : copy->target.pointer);
}

inline i32 device_of(const VirtualMemory& memory) {
  return memory.location_type == kLocationDevice ? memory.location : -1;
}

}  // namespace tprof
