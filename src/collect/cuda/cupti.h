// What watches the GPU: CUPTI's activity records.
//
// Nothing of it is touched in a process that makes no CUDA call. From then on kinds of records are on from a warm-up to
// the delivery of all work launched in the active part, and off between. A thread of its own ("tprof-cuda") switches
// them, flushes about once a second, and waits for deliveries: not the helper thread, whose descriptor table is not the
// program's, and CUPTI opens the driver's files. The subscriber is not held: torch.profiler's own needs it.
#pragma once
#include "base/types.h"
#include "record/record.h"

namespace tprof {

struct Collector;
struct CuptiLibrary;

// This process uses CUDA. Any thread, also inside cuInit. If a window is open, records are on when this returns.
void cupti_wanted();
bool cupti_seen();  // whether that was ever called

// What it does for the session.
extern const Collector kCuptiCollector;

// --- for who shares CUPTI with us (mux.h)
// Registers the one pair of buffer callbacks.
int cupti_register(const CuptiLibrary& library);
// Whether tprof wants this kind on now; whether it ever had any.
bool cupti_uses(u32 kind);
bool cupti_used();
bool cupti_collects();  // some kind is on for tprof
// Leaves out, where they arise, the calls that are not worth recording, unless the client has all.
void cupti_choose_calls(const CuptiLibrary& library);

}  // namespace tprof
