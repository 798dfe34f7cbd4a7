// What the bodies of the driver API's functions share; a body is named as its function, in namespace sim::driver_body.
#pragma once
#include "driver.h"

namespace sim {

struct Module {
  const void* image = nullptr;
  std::vector<Kernel*> kernels;
};

// Physical memory of cuMemCreate: an anonymous file, mapped where and as often as the program says.
struct Chunk {
  int file = -1;
  size_t bytes = 0;
  int device = 0;
};

struct AllocationProperties {
  int type, handle_types;
  int location_type, location_id;
  // ... more that the simulation does not read
};

struct DriverLaunchConfig {
  u32 grid[3], block[3], shared_bytes;
  void* stream;
  struct Attribute {
    int id;
    char pad[4];
    union {
      u32 cluster[3];
      char bytes[64];
    };
  } * attributes;
  u32 attribute_count;
};

Stream* api_stream(void* handle);  // as the calling twin understands the default stream

namespace driver_body {
#define DRV_PLAIN(name, parameters, arguments) int name parameters;
#define DRV(name, cbid, parameters, arguments) int name parameters;
#define DRV_TWIN(name, cbid, twin, parameters, arguments) int name parameters;
#include "driver_api.def"
#undef DRV_PLAIN
#undef DRV
#undef DRV_TWIN
}  // namespace driver_body
}  // namespace sim
