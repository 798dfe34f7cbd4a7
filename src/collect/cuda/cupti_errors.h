// What CUPTI's error codes mean to a user.
#pragma once
#include <stddef.h>

namespace tprof {

struct CuptiLibrary;

// Says in `why` why there are no records, with a remedy where there is one. `tprof doctor` repeats it.
void cupti_explain(const CuptiLibrary& library, int rc, char* why, size_t size);

}  // namespace tprof
