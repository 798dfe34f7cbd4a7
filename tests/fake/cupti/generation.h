// Which CUPTI this library is: SIM_CUPTI_API says so when it is built, so that its exports can differ too.
#pragma once
#include "records.h"

namespace sim::cupti {

struct Generation {
  u32 api, cuda;
  u32 kernel, memcpy, memcpy2, memset, sync, event, overhead, graph, memory2, pool, context, device, marker_data;
};

const Generation& generation();
u32 record_bytes(u32 kind);  // 0: a kind that this generation does not know

}  // namespace sim::cupti
