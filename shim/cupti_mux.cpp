// CUPTI's functions for another client in the program: torch.profiler's libkineto, which links libcupti. What must be
// shared goes through collect/cuda/mux. The other functions are not exported here, and the client calls them directly.
#include "collect/cuda/mux.h"

#include "base/elf.h"
#include "collect/start/entry.h"
#include "export.h"

namespace tprof {
namespace {

constexpr int kNoLibrary = cupti::kNotInitialized;

template <class F>
F real(const char* name) {
  return reinterpret_cast<F>(ElfObject::mapped("libcupti.so").symbol(name));
}

}  // namespace
}  // namespace tprof

using namespace tprof;

// In a process that tprof does not profile, and on a machine without a driver, calls go to CUPTI directly.
#define OWN(name, parameters, arguments)       \
  if (!enter_process() || !mux_library()) {    \
    auto own = real<int(*) parameters>(#name); \
    return own ? own arguments : kNoLibrary;   \
  }

extern "C" EXPORT int cuptiActivityRegisterCallbacks(cupti::RequestBuffer request, cupti::CompleteBuffer complete) {
  OWN(cuptiActivityRegisterCallbacks, (cupti::RequestBuffer, cupti::CompleteBuffer), (request, complete))
  return mux_register_callbacks(request, complete);
}

extern "C" EXPORT int cuptiActivityRegisterTimestampCallback(ClientClock clock) {
  OWN(cuptiActivityRegisterTimestampCallback, (ClientClock), (clock))
  return mux_register_clock(clock);
}

extern "C" EXPORT int cuptiActivityEnable(u32 kind) {
  OWN(cuptiActivityEnable, (u32), (kind))
  return mux_enable(kind, mux_library()->api.cuptiActivityEnable);
}

extern "C" EXPORT int cuptiActivityEnableAndDump(u32 kind) {
  OWN(cuptiActivityEnableAndDump, (u32), (kind))
  auto enable = mux_library()->api.cuptiActivityEnableAndDump;
  return enable ? mux_enable(kind, enable) : kNoLibrary;
}

extern "C" EXPORT int cuptiActivityDisable(u32 kind) {
  OWN(cuptiActivityDisable, (u32), (kind))
  return mux_disable(kind);
}

extern "C" EXPORT int cuptiActivityFlushAll(u32 flag) {
  OWN(cuptiActivityFlushAll, (u32), (flag))
  return mux_flush(flag);
}

extern "C" EXPORT int cuptiActivityGetNumDroppedRecords(void* context, u32 stream, size_t* dropped) {
  OWN(cuptiActivityGetNumDroppedRecords, (void*, u32, size_t*), (context, stream, dropped))
  return mux_count_dropped(context, stream, dropped);
}

extern "C" EXPORT int cuptiFinalize() {
  auto finalize = real<int (*)()>("cuptiFinalize");
  if (finalize && !enter_process()) return finalize();
  return finalize ? mux_finalize(finalize) : kNoLibrary;
}
