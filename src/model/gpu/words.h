// What GPU work other than kernels is called, in libkineto's words: from CUPTI's numbers to names and back.
#pragma once
#include <string>
#include <string_view>

#include "model/gpu.h"

namespace tprof {

// Of CUPTI's enumerations.
constexpr u32 kEventSync = 1, kStreamWaitEvent = 2;  // CUpti_ActivitySynchronizationType
constexpr u32 kObjectThread = 2;                     // CUpti_ActivityObjectKind

// "Memcpy HtoD (Pageable -> Device)", "Stream Sync", "Buffer Flush" ...; empty for kernels, which have names of their
// own.
std::string work_name(const RecordHead& record);

// What RecordHead::id holds for work of that kind and name; 0 where nothing is known of it.
u32 work_id(Kind kind, std::string_view name);

// What a call of the CUDA runtime or driver (or HIP's, or another device's) does, by its name.
CallFamily call_family(std::string_view function);

// Of a copy or a set; 0 of anything else.
u64 bytes_of(const GpuEvent& event);

}  // namespace tprof
