#include "collect/nvtx/ranges.h"

#include <errno.h>

#include "collect/labels.h"
#include "collect/recorder.h"
#include "collect/session.h"
#include "collect/step_pattern.h"
#include "collect/torch/ops.h"

namespace tprof::nvtx {
namespace {

// Levels of the ranges that push has opened on this thread. Of the thread and not of its block: they hold across a fork,
// and where nothing can be recorded.
__thread u32 t_levels[kMaxDomains] __attribute__((tls_model("initial-exec")));

constexpr char kNoMessage[] = "(no message)";
constexpr Attributes kNoAttributes{};

// What an event says: text in the program's memory, or a kept one.
struct Message {
  const char* text = kNoMessage;
  const Text* kept = nullptr;
};

Message message_of(const char* text) { return {text ? text : kNoMessage}; }

Message message_of(const Text* kept) {
  if (kept) return {kept->text(), kept};
  return {};
}

Message message_of(const wchar_t* text) { return message_of(keep_wide(text)); }

Message message_of(const Attributes& a) {
  switch (a.message_type) {
    case kMessageAscii: return message_of(static_cast<const char*>(a.message));
    case kMessageWide: return message_of(static_cast<const wchar_t*>(a.message));
    case kMessageRegistered: return message_of(static_cast<const Text*>(a.message));
    default: return {};
  }
}

// Attributes of another size than any NVTX has had are not read.
const Attributes& checked(const Attributes* a) { return a && a->bytes >= sizeof *a ? *a : kNoAttributes; }


// Whether a range is more than a record: it may be a step, or the moment at which a helper sees what its leader does.
inline bool tells() { return step_pattern_is(StepMode::nvtx) || g_session.is_helper(); }

// One of the two common cases, and to be left quickly.
inline bool idle() { return recording_epoch() == kNoEpoch && !tells(); }

const void* key_of(u32 domain, u32 level) { return reinterpret_cast<const void*>(u64(domain) << 32 | level); }

NvtxPayload payload_of(const Attributes& a, u64& bits) {
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

void tell_steps(const char* text) {
  if (!step_pattern_matches(text)) return;
  u64 t = now_ticks();
  g_session.token(0, true, [=](StepDetector& d) { d.range_matched(t); });
  g_session.promote();
}

// The three forms of a call are a text, a wide one, and attributes. Taken apart only when something is to be recorded.
void describe(NvtxRecord& r, u32, const void*) {
  r.payload = 0;
  r.domain = r.category = r.color = 0;
  r.payload_type = 0;
}

void describe(NvtxRecord& r, u32 domain, const Attributes& a) {
  u64 bits = 0;
  r.payload_type = u8(payload_of(a, bits));
  r.payload = bits;
  r.domain = domain_id(domain);
  r.category = category_id(domain, a.category);
  r.color = a.color_type == 1 ? a.color : 0;
}

// Before the epoch is looked at.
__attribute__((noinline)) void tell(const char* text) {
  if (g_session.is_helper()) g_session.follow(now_ticks());
  if (text && step_pattern_is(StepMode::nvtx)) tell_steps(text);
}

// Appends the record; its begin is stamped last, so that our own work stays outside. nullptr: there was no room.
template <class Said>
__attribute__((always_inline)) inline NvtxRecord* append(ThreadBlock* block, u32 epoch, NvtxWhat what, u32 domain,
                                                         const Message& message, const Said& said) {
  if (__builtin_expect(!block->announced, 0)) learn_thread(block);
  char* at = reserve(block, epoch, sizeof(NvtxRecord));
  if (__builtin_expect(!at, 0)) return nullptr;
  auto* r = reinterpret_cast<NvtxRecord*>(at);
  u32 name = message.kept ? id_of(message.kept) : intern(block, message.text);
  r->end_ticks = 0;
  describe(*r, domain, said);
  r->what = u8(what);
  r->reserved = 0;
  r->begin_ticks = now_ticks();
  publish(block, at, Kind::nvtx, name, sizeof *r);
  return r;
}

__attribute__((noinline)) void refused() {
  if (recording_epoch() != kNoEpoch) g_writer.drop(Drop::reentered);
}

// --- push and pop

template <class Said>
__attribute__((always_inline)) inline void open_pushed(ThreadBlock* block, u32 domain, u32 level, const Said& said) {
  Message message = message_of(said);
  if (__builtin_expect(tells(), 0)) tell(message.text);
  u32 epoch = recording_epoch();
  if (__builtin_expect(epoch == kNoEpoch, 0)) return;
  if (__builtin_expect(block->pushed_count == kMaxPushed, 0)) return g_writer.drop(Drop::too_deep);
  NvtxRecord* r = append(block, epoch, NvtxWhat::push_pop, domain, message, said);
  if (!r) return;
  block->pushed[block->pushed_count++] = {key_of(domain, level), &r->end_ticks, ref_of(block, r), epoch};
  label_begins(block, r->begin_ticks);
}

template <class Said>
__attribute__((noinline)) int record_push(u32 domain, u32 level, const Said& said) {
  if (ThreadBlock* block = enter()) {
    open_pushed(block, domain, level, said);
    leave(block);
  } else {
    refused();
  }
  return int(level);
}

template <class Said>
inline int push_in(u32 domain, const Said& said) {
  u32 level = t_levels[domain]++;
  return idle() ? int(level) : record_push(domain, level, said);
}

// Takes a range that is not the innermost out of the stack.
__attribute__((noinline)) bool take_from_below(ThreadBlock* block, const void* key, OpenRange& out) {
  u32 at = block->pushed_count;
  while (at > 0 && block->pushed[at - 1].key != key) at--;
  if (at == 0) return false;  // it was opened while nothing was recorded
  out = block->pushed[at - 1];
  block->pushed_count--;
  for (u32 i = at - 1; i < block->pushed_count; i++) block->pushed[i] = block->pushed[i + 1];
  return true;
}

void close_pushed(ThreadBlock* block, const void* key, u64 ticks) {
  u32 last = block->pushed_count - 1;
  if (OpenRange below; __builtin_expect(block->pushed[last].key == key, 1)) {
    block->pushed_count = last;
    end_open(block, block->pushed[last], recording_epoch(), ticks);
  } else if (take_from_below(block, key, below)) {
    end_open(block, below, recording_epoch(), ticks);
  } else {
    return;
  }
  label_ends(block);
}

__attribute__((noinline)) int record_pop(u32 domain, u32 level) {
  u64 t = now_ticks();
  if (ThreadBlock* block = enter()) {
    close_pushed(block, key_of(domain, level), t);
    leave(block);
  }
  return int(level);
}

inline int pop_in(u32 domain) {
  if (t_levels[domain] == 0) return -1;
  u32 level = --t_levels[domain];
  ThreadBlock* block = t_self.block;
  return block && block->pushed_count ? record_pop(domain, level) : int(level);
}

// --- start and end. The id of a recorded range: 1, 16 bits that name recording and epoch, 31 bits chunk, 16 bits offset
// in it in words. Of any other range: a number.
constexpr u64 kRecorded = u64(1) << 63;
std::atomic<u64> g_numbers{0};

u64 tag_of(u32 epoch) { return u16(epoch + g_generation.load(std::memory_order_relaxed) * 4099); }

u64 range_id(u32 epoch, RecordRef ref) {
  return kRecorded | tag_of(epoch) << 47 | (ref >> 32 & 0x7fffffff) << 16 | (ref & 0xffffffff) / 8;
}

template <class Said>
u64 start_in(u32 domain, const Said& said) {
  u64 id = 0;
  if (!idle()) {
    if (ThreadBlock* block = enter()) {
      Message message = message_of(said);
      if (tells()) tell(message.text);
      u32 epoch = recording_epoch();
      NvtxRecord* r = epoch == kNoEpoch ? nullptr
                                        : append(block, epoch, NvtxWhat::start_end, domain, message, said);
      if (r) id = range_id(epoch, ref_of(block, r));
      leave(block);
    } else {
      refused();
    }
  }
  return id ? id : g_numbers.fetch_add(1, std::memory_order_relaxed) + 1;
}

// Where the end of a range in this thread's chunk stands; nullptr if the id is none of ours after all.
u64* end_in_chunk(ThreadBlock* block, RecordRef ref) {
  u32 offset = u32(ref);
  if (!block->chunk || block->chunk_index != ref >> 32 || offset + sizeof(NvtxRecord) > block->used) return nullptr;
  auto* r = reinterpret_cast<NvtxRecord*>(reinterpret_cast<char*>(block->chunk) + offset);
  return r->head.kind == u16(Kind::nvtx) ? &r->end_ticks : nullptr;
}

// --- marks

template <class Said>
void mark_in(u32 domain, const Said& said) {
  if (idle()) return;
  ThreadBlock* block = enter();
  if (!block) return refused();
  if (tells()) tell(nullptr);
  if (u32 epoch = recording_epoch(); epoch != kNoEpoch)
    append(block, epoch, NvtxWhat::mark, domain, message_of(said), said);
  leave(block);
}

void name_as(u32 tid, const Text* name) {
  if (name) name_thread(tid, name->text());
}

// What may take memory from the system keeps the program's errno.
class KeepErrno {
 public:
  ~KeepErrno() { errno = saved_; }

 private:
  int saved_ = errno;
};

}  // namespace

void mark(const char* message) { mark_in(0, message); }
void mark_wide(const wchar_t* message) { mark_in(0, message); }
void mark_ex(const Attributes* a) { domain_mark_ex(nullptr, a); }
u64 start(const char* message) { return start_in(0, message); }
u64 start_wide(const wchar_t* message) { return start_in(0, message); }
u64 start_ex(const Attributes* a) { return domain_start_ex(nullptr, a); }
int push(const char* message) { return push_in(0, message); }
int push_wide(const wchar_t* message) { return push_in(0, message); }
int push_ex(const Attributes* a) { return domain_push_ex(nullptr, a); }
int pop() { return pop_in(0); }

void end(u64 id) {
  if (!(id & kRecorded)) return;
  u64 t = now_ticks();
  u32 epoch = recording_epoch();
  if (epoch == kNoEpoch || (id >> 47 & 0xffff) != tag_of(epoch)) return;  // its window is over
  ThreadBlock* block = enter();
  if (!block) return;
  RecordRef ref = (id >> 16 & 0x7fffffff) << 32 | (id & 0xffff) * 8;
  u64* here = end_in_chunk(block, ref);
  if (here || !block->chunk || block->chunk_index != ref >> 32) end_open(block, {nullptr, here, ref, epoch}, epoch, t);
  leave(block);
}

void name_category(u32 category, const char* name) { domain_name_category(nullptr, category, name); }
void name_category_wide(u32 category, const wchar_t* name) { domain_name_category_wide(nullptr, category, name); }

void name_os_thread(u32 tid, const char* name) {
  KeepErrno keep_errno;
  name_as(tid, keep(name));
}
void name_os_thread_wide(u32 tid, const wchar_t* name) {
  KeepErrno keep_errno;
  name_as(tid, keep_wide(name));
}

void domain_mark_ex(Domain* domain, const Attributes* a) { mark_in(index_of(domain), checked(a)); }
u64 domain_start_ex(Domain* domain, const Attributes* a) { return start_in(index_of(domain), checked(a)); }
void domain_end(Domain*, u64 id) { end(id); }
int domain_push_ex(Domain* domain, const Attributes* a) { return push_in(index_of(domain), checked(a)); }
int domain_pop(Domain* domain) { return pop_in(index_of(domain)); }

void domain_name_category(Domain* domain, u32 category, const char* name) {
  KeepErrno keep_errno;
  set_category(index_of(domain), category, keep(name));
}
void domain_name_category_wide(Domain* domain, u32 category, const wchar_t* name) {
  KeepErrno keep_errno;
  set_category(index_of(domain), category, keep_wide(name));
}
const Text* domain_register_string(Domain*, const char* text) {
  KeepErrno keep_errno;
  return keep(text);
}
const Text* domain_register_string_wide(Domain*, const wchar_t* text) {
  KeepErrno keep_errno;
  return keep_wide(text);
}
Domain* domain_create(const char* name) {
  KeepErrno keep_errno;
  return create_domain(keep(name));
}
Domain* domain_create_wide(const wchar_t* name) {
  KeepErrno keep_errno;
  return create_domain(keep_wide(name));
}
void domain_destroy(Domain*) {}  // others may use its name
void initialize(const void*) {}

void mark_payload(Domain* domain, const void*, size_t) { mark_in(index_of(domain), kNoAttributes); }
int push_payload(Domain* domain, const void*, size_t) { return push_in(index_of(domain), kNoAttributes); }
int pop_payload(Domain* domain, const void*, size_t) { return domain_pop(domain); }
u64 start_payload(Domain* domain, const void*, size_t) { return start_in(index_of(domain), kNoAttributes); }
void end_payload(Domain*, u64 id, const void*, size_t) { end(id); }

}  // namespace tprof::nvtx
