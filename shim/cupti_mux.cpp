// CUPTI's functions as a client in the program finds them: torch.profiler's libkineto, which links libcupti. What has to
// be shared goes through collect/cuda/mux; the rest of CUPTI is not exported here and the client calls it directly.
#include "collect/cuda/mux.h"

#include "base/elf.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

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

EXPORT int cuptiActivityRegisterCallbacks(cupti::RequestBuffer request, cupti::CompleteBuffer complete) {
  return mux_library() ? mux_register_callbacks(request, complete) : kNoLibrary;
}

EXPORT int cuptiActivityRegisterTimestampCallback(ClientClock clock) {
  return mux_library() ? mux_register_clock(clock) : kNoLibrary;
}

EXPORT int cuptiActivityEnable(u32 kind) {
  return mux_library() ? mux_enable(kind, mux_library()->api.cuptiActivityEnable) : kNoLibrary;
}

EXPORT int cuptiActivityEnableAndDump(u32 kind) {
  if (!mux_library() || !mux_library()->api.cuptiActivityEnableAndDump) return kNoLibrary;
  return mux_enable(kind, mux_library()->api.cuptiActivityEnableAndDump);
}

EXPORT int cuptiActivityDisable(u32 kind) { return mux_library() ? mux_disable(kind) : kNoLibrary; }

EXPORT int cuptiActivityFlushAll(u32 flag) { return mux_library() ? mux_flush(flag) : kNoLibrary; }

EXPORT int cuptiActivityGetNumDroppedRecords(void* context, u32 stream, size_t* dropped) {
  return mux_library() ? mux_count_dropped(context, stream, dropped) : kNoLibrary;
}

EXPORT int cuptiFinalize() {
  auto finalize = real<int (*)()>("cuptiFinalize");
  return finalize ? mux_finalize(finalize) : kNoLibrary;
}
