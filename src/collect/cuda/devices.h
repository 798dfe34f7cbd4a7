// GPUs and contexts, into the recording: once each, as CUPTI announces them. What its records lack is asked from the
// driver (or the runtime) by attribute, on our own thread: not from CUPTI's callbacks.
#pragma once
#include "record/record.h"

namespace tprof {

// From CUPTI's callbacks, under the log's lock.
void device_seen(u32 id, const DeviceRecord& device);
void context_seen(u32 id, const ContextRecord& context);
// Writes the devices seen since the last call.
void devices_complete();

}  // namespace tprof
