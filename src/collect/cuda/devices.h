// Writes GPUs and contexts to the recording, once each, as CUPTI announces them. What CUPTI's records lack is read from
// the attributes of the driver or the runtime, on tprof's own thread and not in CUPTI's callbacks.
#pragma once
#include "record/record.h"

namespace tprof {

// From CUPTI's callbacks, under the log's lock.
void device_seen(u32 id, const DeviceRecord& device);
void context_seen(u32 id, const ContextRecord& context);
// Completes and writes the devices that were seen since the last call.
void devices_complete();

}  // namespace tprof
