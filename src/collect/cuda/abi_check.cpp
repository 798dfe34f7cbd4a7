// Compares abi.h and its tables with NVIDIA's headers. Compiled only where they are found, and linked nowhere.
#include <cupti.h>
#include <stddef.h>

#include <type_traits>

#include "collect/cuda/abi.h"

namespace tprof::cupti {
namespace {

// The newest struct of each kind that the header has. The first list has the names of CUDA 13; older headers are
// compared with the structs that all versions since 11.8 have.
#if CUPTI_API_VERSION >= 130000
using kernel_t = CUpti_ActivityKernel10;
using memcpy_t = CUpti_ActivityMemcpy6;
using memcpy_peer_t = CUpti_ActivityMemcpyPtoP4;
using sync_t = CUpti_ActivitySynchronization2;
using event_t = CUpti_ActivityCudaEvent2;
using overhead_t = CUpti_ActivityOverhead3;
using memory_t = CUpti_ActivityMemory4;
using graph_t = CUpti_ActivityGraphTrace2;
using device_t = CUpti_ActivityDevice5;
#else
using kernel_t = CUpti_ActivityKernel8;
using memcpy_t = CUpti_ActivityMemcpy5;
using memcpy_peer_t = CUpti_ActivityMemcpyPtoP4;
using sync_t = CUpti_ActivitySynchronization;
using event_t = CUpti_ActivityCudaEvent;
using overhead_t = CUpti_ActivityOverhead;
using memory_t = CUpti_ActivityMemory3;
using graph_t = CUpti_ActivityGraphTrace;
using device_t = CUpti_ActivityDevice4;
#endif
using memset_t = CUpti_ActivityMemset4;
using runtime_t = CUpti_ActivityAPI;
using driver_t = CUpti_ActivityAPI;
using context_t = CUpti_ActivityContext;

// A field that an older header does not have yet counts as right.
#define RECORD(name, number, kind) static_assert(number == CUPTI_ACTIVITY_KIND_##kind && number < kRecordKinds);
#define FIELD(record, name, at, type, member)                                                               \
  template <class T>                                                                                        \
  constexpr bool right_##record##_##name() {                                                                \
    if constexpr (requires(T t) { t.member; })                                                              \
      return offsetof(T, member) == at && (sizeof(T{}.member) == sizeof(type) || sizeof(T{}.member) == 12); \
    return CUPTI_API_VERSION < 130000;                                                                      \
  }                                                                                                         \
  static_assert(right_##record##_##name<record##_t>(), #record "." #name " is not where the table has it");
#include "collect/cuda/cupti_records.def"
#undef FIELD
#undef RECORD

#if CUPTI_API_VERSION < 21  // before CUDA 12.3
constexpr int CUPTI_RUNTIME_TRACE_CBID_cudaStreamGetCaptureInfo_v12030 = 461;
constexpr int CUPTI_RUNTIME_TRACE_CBID_cudaStreamGetCaptureInfo_ptsz_v12030 = 462;
#endif
#define NOISE(cbid, name) static_assert(cbid == CUPTI_RUNTIME_TRACE_CBID_##name);
#define DRIVER(cbid, name) static_assert(cbid == CUPTI_DRIVER_TRACE_CBID_##name);
#include "collect/cuda/cupti_calls.def"
#undef DRIVER
#undef NOISE

// abi.h declares enums as integers, and other pointer types. What must agree is how arguments are passed.
template <class A, class B>
constexpr bool passed_alike = sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>;
template <class A, class B>
struct Alike : std::false_type {};
template <class R, class... A, class S, class... B>
requires(sizeof...(A) == sizeof...(B)) struct Alike<R (*)(A...), S (*)(B...)>
    : std::bool_constant<sizeof(R) == sizeof(S) && (passed_alike<A, B> && ...)> {
};

#define CUPTI_required(name, arguments) static_assert(Alike<int(*) arguments, decltype(&::name)>::value, #name);
#if CUPTI_API_VERSION >= 130000
#define CUPTI_optional(name, arguments) CUPTI_required(name, arguments)
#else
#define CUPTI_optional(name, arguments)
#endif
#define CUPTI(need, name, arguments) CUPTI_##need(name, arguments)
#include "collect/cuda/cupti_api.def"
#undef CUPTI

static_assert(kMaxLimitReached == int(CUPTI_ERROR_MAX_LIMIT_REACHED) &&
              kNotInitialized == int(CUPTI_ERROR_NOT_INITIALIZED) && kInvalidKind == int(CUPTI_ERROR_INVALID_KIND) &&
              kInsufficientPrivileges == int(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES) &&
              kMultipleSubscribers == int(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) &&
              kUnknown == int(CUPTI_ERROR_UNKNOWN));
static_assert(kDriverDomain == CUPTI_CB_DOMAIN_DRIVER_API && kRuntimeDomain == CUPTI_CB_DOMAIN_RUNTIME_API);
static_assert(kSystemThreadIds == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM &&
              kFlushForced == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
static_assert(kObjectThread == CUPTI_ACTIVITY_OBJECT_THREAD && kObjectContext == CUPTI_ACTIVITY_OBJECT_CONTEXT &&
              kObjectStream == CUPTI_ACTIVITY_OBJECT_STREAM);
#if CUPTI_API_VERSION >= 130000
static_assert(sizeof(SubscriberParams) == sizeof(CUpti_SubscriberParams) &&
              offsetof(SubscriberParams, old_name_bytes) == offsetof(CUpti_SubscriberParams, oldSubscriberSize));
#endif

}  // namespace
}  // namespace tprof::cupti
