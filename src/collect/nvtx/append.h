// How an NVTX call becomes a record: what push.cpp and ranges.cpp share.
#pragma once
#include "collect/nvtx/ranges.h"
#include "collect/recorder/recorder.h"
#include "collect/session/session.h"
#include "collect/steps/step_pattern.h"

namespace tprof::nvtx {

inline constexpr char kNoMessage[] = "(no message)";
inline constexpr Attributes kNoAttributes{};

// The message of an event: a text in the program's memory, or a kept one.
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

// Attributes that are smaller than those of any NVTX version are not read.
inline const Attributes& checked(const Attributes* a) { return a && a->bytes >= sizeof *a ? *a : kNoAttributes; }

// Whether the session needs events even if they are not recorded: one may be a step, and a helper process looks at its
// leader when one occurs.
inline bool session_listens() { return step_pattern_is(StepMode::nvtx) || g_session.is_helper(); }

// Nothing to do: one of the two common cases, which must be quick.
inline bool idle() { return recording_epoch() == kNoEpoch && !session_listens(); }

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

// Fills what a call says besides its message. Calls pass a text, a wide text or attributes, which are decoded only when
// something is recorded.
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

// Reports a possible step and looks at the leader. Called before the epoch is read. nullptr: a mark, never a step.
// Whether it is one: then its end must be reported, too.
bool report_to_session(const char* text);
void report_step_end();
// Counts an event that cannot be recorded because this thread is already inside tprof.
void refused();

// Writes the record at `at`. Its start time is taken last, so that tprof's own work stays outside of the range.
template <u64 (*kStamp)() = now_ticks, class Call>
__attribute__((always_inline)) inline NvtxRecord* fill(ThreadBlock* block, char* at, NvtxWhat what, u32 domain,
                                                       u32 name, const Call& call) {
  auto* r = reinterpret_cast<NvtxRecord*>(at);
  r->end_ticks = 0;
  describe(*r, domain, call);
  r->what = u8(what);
  r->reserved = 0;
  r->begin_ticks = kStamp();
  publish(block, at, Kind::nvtx, name, sizeof *r);
  return r;
}

// nullptr: there was no room.
template <class Call>
__attribute__((always_inline)) inline NvtxRecord* append(ThreadBlock* block, u32 epoch, NvtxWhat what, u32 domain,
                                                         const Message& message, const Call& call) {
  if (__builtin_expect(!block->announced, 0)) learn_thread(block);
  char* at = reserve(block, epoch, sizeof(NvtxRecord));
  if (__builtin_expect(!at, 0)) return nullptr;
  u32 name = message.kept ? id_of(message.kept) : intern(block, message.text);
  return fill(block, at, what, domain, name, call);
}

}  // namespace tprof::nvtx
