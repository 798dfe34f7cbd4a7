#include "collect/nvtx/ranges.h"

#include "base/keep_errno.h"
#include "collect/nvtx/append.h"

namespace tprof::nvtx {

__attribute__((noinline)) bool report_to_session(const char* text) {
  KeepErrno keep;
  if (g_session.is_helper()) g_session.follow(now_ticks());
  if (!text || !step_pattern_is(StepMode::nvtx) || !step_pattern_matches(text)) return false;
  u64 t = now_ticks();
  g_session.token(nullptr, Evidence::none, [=](StepDetector& d) { d.range_matched(t); });
  g_session.promote();
  return true;
}

__attribute__((noinline)) void report_step_end() {
  KeepErrno keep;
  u64 t = now_ticks();
  g_session.token(nullptr, Evidence::none, [=](StepDetector& d) { d.range_ended(t); });
}

__attribute__((noinline)) void refused() {
  if (recording_epoch() != kNoEpoch) g_writer.drop(Drop::reentered);
}

namespace {

// --- start and end. The id of a recorded range has the highest bit set, then 16 bits for recording and epoch, 31 bits
// for the chunk, and 16 bits for the offset in it in words. The id of any other range is a number.
constexpr u64 kRecorded = u64(1) << 63;
std::atomic<u64> g_numbers{0};
std::atomic<u64> g_step_range{0};  // the id of the range that began the current step; 0: none that start returned

u64 tag_of(u32 epoch) { return u16(epoch + g_generation.load(std::memory_order_relaxed) * 4099); }

u64 range_id(u32 epoch, RecordRef ref) {
  return kRecorded | tag_of(epoch) << 47 | (ref >> 32 & 0x7fffffff) << 16 | (ref & 0xffffffff) / 8;
}

template <class Call>
u64 start_in(u32 domain, const Call& call) {
  u64 id = 0;
  bool is_step = false;
  if (!idle()) {
    if (ThreadBlock* block = enter()) {
      Message message = message_of(call);
      if (session_listens()) is_step = report_to_session(message.text);
      u32 epoch = recording_epoch();
      NvtxRecord* r = epoch == kNoEpoch ? nullptr : append(block, epoch, NvtxWhat::start_end, domain, message, call);
      if (r) id = range_id(epoch, ref_of(block, r));
      leave(block);
    } else {
      refused();
    }
  }
  if (!id) id = g_numbers.fetch_add(1, std::memory_order_relaxed) + 1;
  if (is_step) g_step_range.store(id, std::memory_order_relaxed);
  return id;
}

// The end of a range whose record is in this thread's chunk; nullptr if it is elsewhere or the id is not ours.
u64* end_in_chunk(ThreadBlock* block, RecordRef ref) {
  u32 offset = u32(ref);
  if (!block->chunk || block->chunk_index != ref >> 32 || offset + sizeof(NvtxRecord) > block->used) return nullptr;
  auto* r = reinterpret_cast<NvtxRecord*>(reinterpret_cast<char*>(block->chunk) + offset);
  return r->head.kind == u16(Kind::nvtx) ? &r->end_ticks : nullptr;
}

// --- marks

template <class Call>
void mark_in(u32 domain, const Call& call) {
  if (idle()) return;
  ThreadBlock* block = enter();
  if (!block) return refused();
  if (session_listens()) report_to_session(nullptr);
  if (u32 epoch = recording_epoch(); epoch != kNoEpoch)
    append(block, epoch, NvtxWhat::mark, domain, message_of(call), call);
  leave(block);
}

void name_as(u32 tid, const Text* name) {
  if (name) name_thread(tid, name->text());
}

}  // namespace

void mark(const char* message) { mark_in(0, message); }
void mark_wide(const wchar_t* message) { mark_in(0, message); }
void mark_ex(const Attributes* a) { domain_mark_ex(nullptr, a); }
u64 start(const char* message) { return start_in(0, message); }
u64 start_wide(const wchar_t* message) { return start_in(0, message); }
u64 start_ex(const Attributes* a) { return domain_start_ex(nullptr, a); }

static void end_recorded(u64 id) {
  u64 t = now_ticks();
  u32 epoch = recording_epoch();
  u32 began = epoch - u16(tag_of(epoch) - (id >> 47 & 0xffff));
  if (!is_same_window(began, epoch)) return;
  ThreadBlock* block = enter();
  if (!block) return;
  RecordRef ref = (id >> 16 & 0x7fffffff) << 32 | (id & 0xffff) * 8;
  u64* here = end_in_chunk(block, ref);
  if (here || !block->chunk || block->chunk_index != ref >> 32) end_open(block, {nullptr, here, ref, began}, epoch, t);
  leave(block);
}

void end(u64 id) {
  if (id & kRecorded) end_recorded(id);
  if (!step_pattern_is(StepMode::nvtx) || !id || !g_step_range.compare_exchange_strong(id, 0)) return;
  if (ThreadBlock* block = enter()) {
    report_step_end();
    leave(block);
  }
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
void domain_destroy(Domain*) {}  // other modules may use the domain
void initialize(const void*) {}

void mark_payload(Domain* domain, const void*, size_t) { mark_in(index_of(domain), kNoAttributes); }
u64 start_payload(Domain* domain, const void*, size_t) { return start_in(index_of(domain), kNoAttributes); }
void end_payload(Domain*, u64 id, const void*, size_t) { end(id); }

}  // namespace tprof::nvtx
