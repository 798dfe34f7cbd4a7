// Shares CUPTI with a client in the program itself: torch.profiler. There is one registration of buffer callbacks per
// process, and whoever disables a kind disables it for all. So tprof stands between them (shim/cupti_mux.cpp exports
// CUPTI's functions), keeps the one registration, and gives the client copies of the records that it asked for. The
// subscriber needs no sharing: tprof holds none.
//
// Not shared are clients that look CUPTI's functions up by dlsym, or link it statically.
#pragma once
#include "collect/cuda/library.h"

namespace tprof {

using ClientClock = u64 (*)();

// The client's calls. Each does what the function of that name would do were tprof not there, and returns its result.
// `real`: the function of the libcupti that the client is linked to.
int mux_register_callbacks(cupti::RequestBuffer request, cupti::CompleteBuffer complete);
int mux_register_clock(ClientClock clock);
int mux_enable(u32 kind, int (*real)(u32 kind));
int mux_disable(u32 kind);
int mux_flush(u32 flag);
int mux_count_dropped(void* context, u32 stream, size_t* dropped);
int mux_finalize(int (*real)());
// The client's libcupti: the one that is mapped. nullptr: none is.
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
// cuptiActivityFlushAll, one at a time: whoever comes back from it has all that was ready, also what another thread's
// flush was handing over. Waits for that one two seconds at most.
int mux_flush_all(const CuptiLibrary& library, u32 flag);
// A buffer came: copies for the client.
void mux_tee(const CuptiLibrary& library, u8* buffer, size_t valid);
// CUPTI told tprof of records that it dropped; it tells each loss once, and the client wants to know too.
void mux_dropped(u64 count);
// In a forked child.
void mux_forget();

}  // namespace tprof
