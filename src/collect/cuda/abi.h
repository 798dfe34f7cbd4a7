// What tprof knows of CUPTI's binary interface, in declarations of its own: numbers, offsets and signatures, for CUDA
// 11.2 and later. The build needs no header of NVIDIA's; where one is found, abi_check.cpp compares.
#pragma once
#include "base/types.h"

namespace tprof::cupti {

enum Result : int {
  kSuccess = 0,
  kMaxLimitReached = 12,
  kNotInitialized = 15,
  kInvalidKind = 21,
  kInsufficientPrivileges = 35,
  kMultipleSubscribers = 39,
  kUnknown = 999,
};

constexpr u32 kDriverDomain = 1, kRuntimeDomain = 2;  // CUpti_CallbackDomain
constexpr u32 kSystemThreadIds = 1;                   // CUpti_ActivityThreadIdType
constexpr u32 kFlushForced = 1;                       // CUpti_ActivityFlag: also buffers with unfinished records
constexpr u32 kObjectThread = 2, kObjectContext = 4, kObjectStream = 5;  // CUpti_ActivityObjectKind

using RequestBuffer = void (*)(u8** buffer, size_t* bytes, size_t* max_records);
using CompleteBuffer = void (*)(void* context, u32 stream, u8* buffer, size_t bytes, size_t valid);
using Callback = void (*)(void* user, u32 domain, u32 cbid, const void* data);

struct SubscriberParams {
  size_t bytes;
  const char* name;
  char* old_name;  // filled with the name of the tool that holds CUPTI
  size_t old_name_bytes;
};

// The values of CUpti_ActivityKind that tprof reads.
enum RecordKind : u32 {
#define RECORD(name, number, kind) k_##name = number,
#define FIELD(record, name, at, type, member)
#include "collect/cuda/cupti_records.def"
#undef FIELD
#undef RECORD
};
constexpr u32 kRecordKinds = 64;  // all numbers lie below

template <class T>
struct Field {
  using type = T;
  u16 at;
};

#define RECORD(name, number, kind)
#define FIELD(record, name, at, type, member) inline constexpr Field<type> record##_##name{at};
#include "collect/cuda/cupti_records.def"
#undef FIELD
#undef RECORD

}  // namespace tprof::cupti
