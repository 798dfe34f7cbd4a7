#include "generation.h"

namespace sim::cupti {
namespace {

constexpr Generation kGenerations[] = {
#define GENERATION(...) {__VA_ARGS__},
#include "generations.def"
#undef GENERATION
};

constexpr Generation find() {
  for (const Generation& one : kGenerations)
    if (one.api == SIM_CUPTI_API) return one;
  return {};
}

constexpr Generation kThis = find();
static_assert(kThis.api == SIM_CUPTI_API, "SIM_CUPTI_API has no row in generations.def");

}  // namespace

const Generation& generation() { return kThis; }

u32 record_bytes(u32 kind) {
  switch (kind) {
    case kMemcpy: return kThis.memcpy;
    case kMemset: return kThis.memset;
    case kKernel:
    case kConcurrentKernel: return kThis.kernel;
    case kDriver:
    case kRuntime: return sizeof(ApiRecord);
    case kDevice: return kThis.device;
    case kContext: return kThis.context;
    case kMarker: return 56;
    case kMarkerData: return kThis.marker_data;
    case kOverhead: return kThis.overhead;
    case kMemcpy2: return kThis.memcpy2;
    case kEvent: return kThis.event;
    case kStream: return sizeof(StreamRecord);
    case kSync: return kThis.sync;
    case kExternal: return sizeof(ExternalRecord);
    case kMemory2: return kThis.memory2;
    case kPool: return kThis.pool;
    case kGraph: return kThis.graph;
    // Never made here, but stepped over: what a client may meet that it did not ask for.
    case kName:
    case kFunction: return 32;
    case kModule:
    case kDeviceAttribute: return 24;
    case kEnvironment:
    case kInternalLaunch: return sizeof(ApiRecord);
  }
  return 0;
}

}  // namespace sim::cupti
