// Collects CUPTI's activity records, which show what the GPU does.
//
// A process that makes no CUDA call does not touch CUPTI. In others, kinds of records are enabled from a warm-up until
// all work that was launched in the active part is delivered, and disabled in between. A thread of its own
// ("tprof-cuda") switches them, flushes about once a second, and waits for deliveries. The helper thread cannot do
// this: CUPTI opens files of the driver, and the helper has a descriptor table of its own. Nor can a thread that makes
// a step: it holds the session's lock, and loading a library takes the loader's. The subscriber is not held, because
// torch.profiler needs it.
#pragma once
#include "base/types.h"
#include "record/record.h"

namespace tprof {

struct Collector;
struct CuptiLibrary;

// This process uses CUDA. From any thread, also inside cuInit. If a window is open, records are on when this returns.
void cupti_wanted();
bool cupti_seen();  // whether that was ever called

// Its functions for the session.
extern const Collector kCuptiCollector;

// --- for sharing CUPTI with a client (mux.h)
// Registers the one pair of buffer callbacks.
int cupti_register(const CuptiLibrary& library);
// Whether tprof needs this kind enabled now; whether it ever used CUPTI.
bool cupti_uses(u32 kind);
bool cupti_used();
bool cupti_collects();  // some kind is on for tprof
// Makes CUPTI leave out the calls that are not worth recording, unless the client has enabled them all.
void cupti_choose_calls(const CuptiLibrary& library);

}  // namespace tprof
