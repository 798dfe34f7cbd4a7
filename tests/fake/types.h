// Short integer names, and the status numbers that the runtime (cudaError_t) and the driver API (CUresult) share.
#pragma once
#include <cstddef>
#include <cstdint>

namespace sim {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i32 = int32_t;
using i64 = int64_t;

// STATUS(number, runtime's name, text)
#define SIM_STATUSES(STATUS)                                                                                   \
  STATUS(0, Success, "no error")                                                                               \
  STATUS(1, ErrorInvalidValue, "invalid argument")                                                             \
  STATUS(2, ErrorMemoryAllocation, "out of memory")                                                            \
  STATUS(3, ErrorInitializationError, "initialization error")                                                  \
  STATUS(9, ErrorInvalidConfiguration, "invalid configuration argument")                                       \
  STATUS(35, ErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version")          \
  STATUS(52, ErrorMissingConfiguration, "__global__ function call is not configured")                          \
  STATUS(98, ErrorInvalidDeviceFunction, "invalid device function")                                            \
  STATUS(100, ErrorNoDevice, "no CUDA-capable device is detected")                                             \
  STATUS(101, ErrorInvalidDevice, "invalid device ordinal")                                                    \
  STATUS(201, ErrorDeviceUninitialized, "invalid device context")                                              \
  STATUS(400, ErrorInvalidResourceHandle, "invalid resource handle")                                           \
  STATUS(401, ErrorIllegalState, "the operation cannot be performed in the present state")                     \
  STATUS(500, ErrorSymbolNotFound, "named symbol not found")                                                   \
  STATUS(600, ErrorNotReady, "device not ready")                                                               \
  STATUS(700, ErrorIllegalAddress, "an illegal memory access was encountered")                                 \
  STATUS(712, ErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped") \
  STATUS(713, ErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region")       \
  STATUS(719, ErrorLaunchFailure, "unspecified launch failure")                                                \
  STATUS(801, ErrorNotSupported, "operation not supported")                                                    \
  STATUS(900, ErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing")               \
  STATUS(901, ErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture")        \
  STATUS(902, ErrorStreamCaptureMerge, "operation would result in a merge of separate capture sequences")      \
  STATUS(999, ErrorUnknown, "unknown error")

enum Status : int {
#define STATUS(number, name, text) k##name = number,
  SIM_STATUSES(STATUS)
#undef STATUS
};

inline const char* status_text(int status) {
#define STATUS(number, name, text) \
  if (status == number) return text;
  SIM_STATUSES(STATUS)
#undef STATUS
  return "unrecognized error code";
}

inline const char* status_name(int status) {
#define STATUS(number, name, text) \
  if (status == number) return "cuda" #name;
  SIM_STATUSES(STATUS)
#undef STATUS
  return "unrecognized error code";
}

}  // namespace sim
