// The names that libkineto gives to GPU activities other than kernels: from CUPTI's numbers to names and back.
#pragma once
#include <string>
#include <string_view>

#include "model/gpu.h"

namespace tprof {

// From CUPTI's enumerations.
constexpr u32 kEventSync = 1, kStreamWaitEvent = 2;  // CUpti_ActivitySynchronizationType
constexpr u32 kObjectThread = 2;                     // CUpti_ActivityObjectKind

// "Memcpy HtoD (Pageable -> Device)", "Stream Sync", "Buffer Flush" ...; empty for kernels, which have their own names.
std::string activity_name(const RecordHead& record);

// RecordHead::id for an activity of that kind and name; 0 if it is not known.
u32 activity_id(Kind kind, std::string_view name);

// The family of a function of the CUDA runtime or driver (or of HIP, or another device), by its name.
CallFamily call_family(std::string_view function);

// The size of a copy or a set; 0 for anything else.
u64 bytes_of(const GpuEvent& event);

}  // namespace tprof
