// What the bodies of the runtime's functions share. A body is named as its function, in namespace sim::body, and runs
// only with a driver, initialised, unless it stands in driverless() (runtime.cpp).
#pragma once
#include "abi.h"

namespace sim {

Driver* driver();           // null: no driver, or one too old
Stream* stream_of(Handle);  // as the calling twin understands the default stream
int current_device();
Context* current_context();  // makes the primary one
extern thread_local bool per_thread_default;
extern thread_local int last_error;

namespace body {
#define RT(name, cbid, version, parameters, arguments) int name parameters;
#define RT_TWIN(name, cbid, version, suffix, twin, parameters, arguments) int name parameters;
#include "runtime_api.def"
#undef RT
#undef RT_TWIN
}  // namespace body
}  // namespace sim
