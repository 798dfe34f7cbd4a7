// THE table of the collectors that record beside the framework.
#include "collect/cuda/call.h"
#include "collect/cuda/cupti.h"
#include "collect/native/native.h"
#include "collect/nvtx/inject.h"
#include "collect/session/collector.h"

namespace tprof {

constinit const Collector* const kCollectors[] = {&kCallCollector, &kNvtxCollector, &kNativeCollector, &kCuptiCollector,
                                                  nullptr};

}  // namespace tprof
