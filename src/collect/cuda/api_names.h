// For each function of the CUDA API, by CUPTI's number for it: its name in the recording, and what kind of call it is.
// The loaded libcupti is queried once per function.
#pragma once
#include "collect/cuda/library.h"

namespace tprof {

struct ApiName {
  u32 id = 0;  // of the name, in the recording
  bool known = false;
  bool skipped = false;   // not recorded: see cupti_calls.def
  bool launches = false;  // kernels or a graph: a record of GPU activity must follow
  bool begins_capture = false, ends_capture = false;
};

// `cbid` as in ApiRecord. Callers hold the log's lock.
const ApiName& api_name(const CuptiLibrary& library, u32 cbid);

// The rows of cupti_calls.def, so that CUPTI itself leaves out the calls that are not recorded.
extern const u32 kNoiseCalls[];
extern const u32 kNoiseCallCount;
extern const u32 kDriverCalls[];
extern const u32 kDriverCallCount;

}  // namespace tprof
