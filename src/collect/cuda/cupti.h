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

struct CuptiLibrary;

// This process uses CUDA. Any thread, also inside cuInit. If a window is open, records are on when this returns.
void cupti_wanted();
bool cupti_seen();  // whether that was ever called

// --- for the session
// The phase changed. Records must be on in active phases when this returns; earlier phases give CUPTI's thread time.
void cupti_follow(Phase phase);
// Whether anything may still come for windows that have ended.
bool cupti_on();
// A window has ended: waits begin.
void cupti_wake();
// Flushes, and waits for that a moment (for a flush that the user asked for).
void cupti_flush();
// The process ends, and the last window has ended: waits for the delivery of its work.
void cupti_exiting();
// That window is sealed: waits (at most 1 s) until no thread of ours is in CUPTI.
void cupti_finish();
// --- for who shares CUPTI with us (mux.h)
// Registers the one pair of buffer callbacks.
int cupti_register(const CuptiLibrary& library);
// Whether tprof wants this kind on now; whether it ever had any.
bool cupti_uses(u32 kind);
bool cupti_used();
bool cupti_collects();  // some kind is on for tprof
// Leaves out, where they arise, the calls that are not worth recording, unless the client has all.
void cupti_choose_calls(const CuptiLibrary& library);

// In a forked child: CUPTI is never called again there.
void cupti_forget();

}  // namespace tprof
