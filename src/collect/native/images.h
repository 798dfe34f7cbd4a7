// Which files are mapped where: what a program counter of a native stack means.
//
// The same addresses belong to different files in the course of time. g_maps counts how often something that was mapped
// is gone; program counters and ImageRecords carry that number, and what was learnt of an address is void when it
// grows.
#pragma once
#include <atomic>

#include "collect/native/frame_rule.h"

namespace tprof {

extern std::atomic<u32> g_maps;

// The call frame information of the object that holds `pc`; no header if there is none. Objects that were not seen
// before are recorded. Takes the loader's lock for a moment: for what is rare.
EhFrame eh_frame_of(u64 pc);

// Something may have been unmapped (dlclose returned).
void images_closed();

void reset_images_in_child();

}  // namespace tprof
