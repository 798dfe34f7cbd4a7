// CUptiResult, as far as the simulation answers with it. RESULT(number, enumerator, NVIDIA's name)
#pragma once

namespace sim::cupti {

#define SIM_CUPTI_RESULTS(RESULT)                                                    \
  RESULT(0, kSuccess, "CUPTI_SUCCESS")                                               \
  RESULT(1, kInvalidParameter, "CUPTI_ERROR_INVALID_PARAMETER")                      \
  RESULT(7, kInvalidOperation, "CUPTI_ERROR_INVALID_OPERATION")                      \
  RESULT(12, kMaxLimitReached, "CUPTI_ERROR_MAX_LIMIT_REACHED")                      \
  RESULT(15, kNotInitialized, "CUPTI_ERROR_NOT_INITIALIZED")                         \
  RESULT(18, kQueueEmpty, "CUPTI_ERROR_QUEUE_EMPTY")                                 \
  RESULT(21, kInvalidKind, "CUPTI_ERROR_INVALID_KIND")                               \
  RESULT(27, kNotSupported, "CUPTI_ERROR_NOT_SUPPORTED")                             \
  RESULT(35, kInsufficientPrivileges, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES")         \
  RESULT(39, kMultipleSubscribers, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED") \
  RESULT(999, kUnknown, "CUPTI_ERROR_UNKNOWN")

enum Result : int {
#define RESULT(number, enumerator, name) enumerator = number,
  SIM_CUPTI_RESULTS(RESULT)
#undef RESULT
};

}  // namespace sim::cupti
