#include "collect/cuda/cupti_errors.h"

#include <stdio.h>

#include "collect/cuda/library.h"

namespace tprof {

void cupti_explain(const CuptiLibrary& library, int rc, char* why, size_t size) {
  u32 driver = mapped_driver_major();
  switch (rc) {
    case cupti::kInsufficientPrivileges:
      snprintf(why, size,
               "this user may not profile GPUs here (the driver's option NVreg_RestrictProfilingToAdminUsers=0 "
               "allows it)");
      return;
    case cupti::kMultipleSubscribers: {
      char holder[128] = "another tool";
      cupti::SubscriberParams who{sizeof who, "tprof", holder, sizeof holder};
      void* subscriber = nullptr;
      if (library.api.cuptiSubscribe_v2 && library.api.cuptiUnsubscribe &&
          library.api.cuptiSubscribe_v2(
              &subscriber, [](void*, u32, u32, const void*) {}, nullptr, &who) == 0)
        library.api.cuptiUnsubscribe(subscriber);
      snprintf(why, size, "CUPTI is in use by %s, and only one tool can use it at a time",
               holder[0] ? holder : "another tool");
      return;
    }
    case cupti::kNotInitialized:
    case cupti::kUnknown:
      if (library.major() > driver) {
        snprintf(why, size,
                 "libcupti of CUDA %u is newer than the driver (CUDA %u), and no older one was found; "
                 "TPROF_CUPTI can name one",
                 library.major(), driver);
        return;
      }
  }
  snprintf(why, size, "CUPTI failed with error %d", rc);
}

}  // namespace tprof
