// Holds our declarations of NVTX (collect/nvtx/abi.h, functions.def, ranges.h) against NVIDIA's headers. That it
// compiles is the test.
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <type_traits>

#include "collect/nvtx/ranges.h"

namespace tprof::nvtx {

// Two types that travel the same way: pointers alike, numbers of the same size and sign.
template <class A, class B>
constexpr bool alike() {
  if constexpr (std::is_pointer_v<A> && std::is_pointer_v<B>) {
    using P = std::remove_cv_t<std::remove_pointer_t<A>>;
    using Q = std::remove_cv_t<std::remove_pointer_t<B>>;
    return std::is_same_v<P, wchar_t> == std::is_same_v<Q, wchar_t> &&
           std::is_same_v<P, char> == std::is_same_v<Q, char>;
  } else if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) {
    return sizeof(A) == sizeof(B) && std::is_signed_v<A> == std::is_signed_v<B>;
  } else {
    return std::is_void_v<A> && std::is_void_v<B>;
  }
}

template <class Ours, class Theirs>
struct Same : std::false_type {};
template <class R, class S, class... A, class... B>
requires(sizeof...(A) == sizeof...(B)) struct Same<R (*)(A...), S (*)(B...)>
    : std::bool_constant<(alike<R, S>() && ... && alike<A, B>())> {
};

#define NVTX(group, slot, Name, function)       \
  static_assert(slot == SLOT_OF_##group(Name)); \
  static_assert(Same<decltype(&tprof::nvtx::function), nvtx##Name##_impl_fntype>::value);
#define SLOT_OF_core(Name) NVTX_CBID_CORE_##Name
#define SLOT_OF_core2(Name) NVTX_CBID_CORE2_##Name
#define PAYLOAD(slot, Name, function)              \
  static_assert(slot == NVTX3EXT_CBID_nvtx##Name); \
  static_assert(Same<decltype(&tprof::nvtx::function), decltype(&::nvtx##Name)>::value);
#include "collect/nvtx/functions.def"
#undef NVTX
#undef PAYLOAD
static_assert(u32(Group::core) == NVTX_CB_MODULE_CORE && u32(Group::core2) == NVTX_CB_MODULE_CORE2);

static_assert(kCallbackTable == NVTX_ETID_CALLBACKS);
static_assert(sizeof(CallbackTable) == sizeof(NvtxExportTableCallbacks));
static_assert(offsetof(CallbackTable, slots_of) == offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));

#define FIELD(ours, theirs)                                                              \
  static_assert(offsetof(Attributes, ours) == offsetof(nvtxEventAttributes_t, theirs) && \
                sizeof(Attributes::ours) == sizeof(nvtxEventAttributes_t::theirs));
static_assert(sizeof(Attributes) == sizeof(nvtxEventAttributes_t));
FIELD(version, version)
FIELD(bytes, size)
FIELD(category, category)
FIELD(color_type, colorType)
FIELD(color, color)
FIELD(payload_type, payloadType)
FIELD(payload, payload)
FIELD(message_type, messageType)
FIELD(message, message)
#undef FIELD

static_assert(i32(kMessageAscii) == NVTX_MESSAGE_TYPE_ASCII && i32(kMessageWide) == NVTX_MESSAGE_TYPE_UNICODE &&
              i32(kMessageRegistered) == NVTX_MESSAGE_TYPE_REGISTERED && NVTX_COLOR_ARGB == 1);
static_assert(i32(kPayloadUnsigned64) == NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 &&
              i32(kPayloadSigned64) == NVTX_PAYLOAD_TYPE_INT64 && i32(kPayloadFloat64) == NVTX_PAYLOAD_TYPE_DOUBLE &&
              i32(kPayloadUnsigned32) == NVTX_PAYLOAD_TYPE_UNSIGNED_INT32 &&
              i32(kPayloadSigned32) == NVTX_PAYLOAD_TYPE_INT32 && i32(kPayloadFloat32) == NVTX_PAYLOAD_TYPE_FLOAT);

static_assert(sizeof(ExtensionSegment) == sizeof(nvtxExtModuleSegment_t) &&
              sizeof(Extension) == sizeof(nvtxExtModuleInfo_t));
static_assert(offsetof(Extension, module) == offsetof(nvtxExtModuleInfo_t, moduleId) &&
              offsetof(Extension, segments) == offsetof(nvtxExtModuleInfo_t, segments) &&
              offsetof(ExtensionSegment, slots) == offsetof(nvtxExtModuleSegment_t, functionSlots));
static_assert(kPayloadExtension == NVTX_EXT_PAYLOAD_MODULEID);

}  // namespace tprof::nvtx

int main() { return 0; }
