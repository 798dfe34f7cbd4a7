// How an NVTX call becomes a record: what push.cpp and ranges.cpp share.
#pragma once
#include "collect/nvtx/ranges.h"
#include "collect/recorder/recorder.h"
#include "collect/session/session.h"
#include "collect/steps/step_pattern.h"

namespace tprof::nvtx {

inline constexpr char kNoMessage[] = "(no message)";
inline constexpr Attributes kNoAttributes{};

// What an event says: text in the program's memory, or a kept one.
struct Message {
  const char* text = kNoMessage;
  const Text* kept = nullptr;
};

inline Message message_of(const char* text) { return {text ? text : kNoMessage}; }

inline Message message_of(const Text* kept) {
  if (kept) return {kept->text(), kept};
  return {};
}

inline Message message_of(const wchar_t* text) { return message_of(keep_wide(text)); }

inline Message message_of(const Attributes& a) {
  switch (a.message_type) {
    case kMessageAscii: return message_of(static_cast<const char*>(a.message));
    case kMessageWide: return message_of(static_cast<const wchar_t*>(a.message));
    case kMessageRegistered: return message_of(static_cast<const Text*>(a.message));
    default: return {};
  }
}

// Attributes of another size than any NVTX has had are not read.
inline const Attributes& checked(const Attributes* a) { return a && a->bytes >= sizeof *a ? *a : kNoAttributes; }

// Whether a range is more than a record: it may be a step, or the moment at which a helper sees what its leader does.
inline bool tells() { return step_pattern_is(StepMode::nvtx) || g_session.is_helper(); }

// One of the two common cases, and to be left quickly.
inline bool idle() { return recording_epoch() == kNoEpoch && !tells(); }

inline NvtxPayload payload_of(const Attributes& a, u64& bits) {
  auto as = [&](auto value, NvtxPayload type) {
    static_assert(sizeof value == sizeof bits);
    memcpy(&bits, &value, sizeof bits);
    return type;
  };
  switch (a.payload_type) {
    case kPayloadUnsigned64: return as(a.payload.unsigned64, NvtxPayload::unsigned_integer);
    case kPayloadSigned64: return as(a.payload.signed64, NvtxPayload::integer);
    case kPayloadFloat64: return as(a.payload.float64, NvtxPayload::floating);
    case kPayloadUnsigned32: return as(u64(a.payload.unsigned32), NvtxPayload::unsigned_integer);
    case kPayloadSigned32: return as(i64(a.payload.signed32), NvtxPayload::integer);
    case kPayloadFloat32: return as(double(a.payload.float32), NvtxPayload::floating);
    default: return NvtxPayload::none;
  }
}

// The three forms of a call are a text, a wide one, and attributes. Taken apart only when something is to be recorded.
inline void describe(NvtxRecord& r, u32, const void*) {
  r.payload = 0;
  r.domain = r.category = r.color = 0;
  r.payload_type = 0;
}

inline void describe(NvtxRecord& r, u32 domain, const Attributes& a) {
  u64 bits = 0;
  r.payload_type = u8(payload_of(a, bits));
  r.payload = bits;
  r.domain = domain_id(domain);
  r.category = category_id(domain, a.category);
  r.color = a.color_type == 1 ? a.color : 0;
}

// Finds the step, before the epoch is looked at, and follows the leader. No text: a mark.
void tell(const char* text);
// An event of which nothing can be recorded, since this thread is inside tprof already.
void refused();

// Writes the record at `at`; its begin is stamped last, so that our own work stays outside.
template <u64 (*kStamp)() = now_ticks, class Said>
__attribute__((always_inline)) inline NvtxRecord* fill(ThreadBlock* block, char* at, NvtxWhat what, u32 domain,
                                                       u32 name, const Said& said) {
  auto* r = reinterpret_cast<NvtxRecord*>(at);
  r->end_ticks = 0;
  describe(*r, domain, said);
  r->what = u8(what);
  r->reserved = 0;
  r->begin_ticks = kStamp();
  publish(block, at, Kind::nvtx, name, sizeof *r);
  return r;
}

// nullptr: there was no room.
template <class Said>
__attribute__((always_inline)) inline NvtxRecord* append(ThreadBlock* block, u32 epoch, NvtxWhat what, u32 domain,
                                                         const Message& message, const Said& said) {
  if (__builtin_expect(!block->announced, 0)) learn_thread(block);
  char* at = reserve(block, epoch, sizeof(NvtxRecord));
  if (__builtin_expect(!at, 0)) return nullptr;
  u32 name = message.kept ? id_of(message.kept) : intern(block, message.text);
  return fill(block, at, what, domain, name, said);
}

}  // namespace tprof::nvtx
