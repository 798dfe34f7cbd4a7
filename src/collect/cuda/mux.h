// Shares CUPTI with a client in the program itself, such as torch.profiler. A process has one registration of buffer
// callbacks, and a kind that one client disables is disabled for all. So tprof intercepts the client's calls
// (shim/cupti_mux.cpp exports CUPTI's functions), keeps the one registration, and gives the client copies of the
// records that it enabled. The subscriber need not be shared: tprof holds none.
//
// Clients that look up CUPTI's functions with dlsym, or link it statically, are not covered.
#pragma once
#include "collect/cuda/library.h"

namespace tprof {

using ClientClock = u64 (*)();

// The client's calls. Each has the effect and the result that CUPTI's function of that name would have without tprof.
// `real`: the function in the libcupti that the client is linked with.
int mux_register_callbacks(cupti::RequestBuffer request, cupti::CompleteBuffer complete);
int mux_register_clock(ClientClock clock);
int mux_enable(u32 kind, int (*real)(u32 kind));
int mux_disable(u32 kind);
int mux_flush(u32 flag);
int mux_count_dropped(void* context, u32 stream, size_t* dropped);
int mux_finalize(int (*real)());
// The client's libcupti, which is the mapped one. nullptr: none is mapped, or there is no driver, so that there is
// nothing to share.
const CuptiLibrary* mux_library();

// --- for the collector (cupti.cpp)
// Held while kinds are switched, by tprof or by the client.
class MuxSwitching {
 public:
  MuxSwitching();
  ~MuxSwitching();
  MuxSwitching(const MuxSwitching&) = delete;
};
bool mux_client_has(u32 kind);
// cuptiActivityFlushAll, one at a time: when it returns, all records that were ready have been delivered, also those
// that another thread's flush was delivering. Waits two seconds at most for that flush.
int mux_flush_all(const CuptiLibrary& library, u32 flag);
// A buffer was completed: copies its records for the client.
void mux_tee(const CuptiLibrary& library, u8* buffer, size_t valid);
// CUPTI reported dropped records to tprof. It reports each loss once, so the count is kept for the client, too.
void mux_dropped(u64 count);
// In a forked child.
void mux_forget();

}  // namespace tprof
