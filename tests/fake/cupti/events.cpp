// CUPTI's events and metrics, which PyTorch's libraries for CUDA 12 are linked with: not supported.
#include "calls.h"
#include "results.h"

#define NOT_HERE(name)                                           \
  extern "C" __attribute__((visibility("default"))) int name() { \
    sim::cupti::called(__func__);                                \
    return sim::cupti::kNotSupported;                            \
  }

NOT_HERE(cuptiEventGetAttribute)
NOT_HERE(cuptiEventGetIdFromName)
NOT_HERE(cuptiEventGroupGetAttribute)
NOT_HERE(cuptiEventGroupReadEvent)
NOT_HERE(cuptiEventGroupSetAttribute)
NOT_HERE(cuptiEventGroupSetDisable)
NOT_HERE(cuptiEventGroupSetEnable)
NOT_HERE(cuptiEventGroupSetsCreate)
NOT_HERE(cuptiEventGroupSetsDestroy)
NOT_HERE(cuptiMetricEnumEvents)
NOT_HERE(cuptiMetricGetAttribute)
NOT_HERE(cuptiMetricGetIdFromName)
NOT_HERE(cuptiMetricGetNumEvents)
NOT_HERE(cuptiMetricGetValue)
NOT_HERE(cuptiSetEventCollectionMode)
