// NVTX's push and pop. The ranges that push opened are found by domain and level, so those of one domain may cross
// those of another, and operators.
#include "collect/nvtx/append.h"
#include "collect/steps/labels.h"

namespace tprof::nvtx {
namespace {

// Levels of the ranges that push has opened on this thread. They are thread-local and not in the thread's block, so
// that they stay right after a fork and where nothing can be recorded.
__thread u32 t_levels[kMaxDomains] __attribute__((tls_model("initial-exec")));

// The range that began the current step, as key_of() of the level that it led to; nullptr: none of this thread.
__thread const void* t_step_range __attribute__((tls_model("initial-exec")));

const void* key_of(u32 domain, u32 level) { return reinterpret_cast<const void*>(u64(domain) << 32 | level); }

inline void keep_open(ThreadBlock* block, u32 domain, u32 level, NvtxRecord* r, u32 epoch) {
  block->pushed[block->pushed_count++] = {key_of(domain, level), &r->end_ticks, ref_of(block, r), epoch};
  label_begins(block, r->begin_ticks);
}

template <class Call>
__attribute__((always_inline)) inline void open_pushed(ThreadBlock* block, u32 domain, u32 level, const Call& call) {
  Message message = message_of(call);
  if (__builtin_expect(session_listens(), 0) && report_to_session(message.text))
    t_step_range = key_of(domain, level + 1);
  u32 epoch = recording_epoch();
  if (__builtin_expect(epoch == kNoEpoch, 0)) return;
  if (__builtin_expect(block->pushed_count == kMaxPushed, 0)) return g_writer.drop(Drop::too_deep);
  NvtxRecord* r = append(block, epoch, NvtxWhat::push_pop, domain, message, call);
  if (r) keep_open(block, domain, level, r, epoch);
}

template <class Call>
__attribute__((noinline)) int record_push(u32 domain, u32 level, Call call) {
  if (ThreadBlock* block = enter()) {
    open_pushed(block, domain, level, call);
    leave(block);
  } else {
    refused();
  }
  return int(level);
}

template <class Call>
inline int push_in(u32 domain, const Call& call) {
  u32 level = t_levels[domain]++;
  return idle() ? int(level) : record_push<const Call&>(domain, level, call);
}

// The most common push: a text that this thread has used before, and nothing else to do. It is separate because it is
// faster without any call. False: record_push must do it.
inline bool push_known(ThreadBlock* block, const char* text, u32 level) {
  u32 epoch = recording_epoch();
  CachedName& name = cache_slot(block, text);
  if (block->epoch != epoch || !block->chunk || block->used + sizeof(NvtxRecord) > kChunkBytes ||
      block->pushed_count == kMaxPushed || name.text != text || !compares_by_words(name, text) ||
      !same_words(name.copy, text, name.bytes))
    return false;
  char* at = reinterpret_cast<char*>(block->chunk) + block->used;
  keep_open(block, 0, level, fill<counter_ticks>(block, at, NvtxWhat::push_pop, 0, name.id, text), epoch);
  return true;
}

inline int push_text(const char* text) {
  u32 level = t_levels[0]++;
  if (idle()) return int(level);
  ThreadBlock* block = t_self.block;
  bool plain =
      block && !block->busy.load(std::memory_order_relaxed) && text && !session_listens() && ticks_are_counted();
  if (__builtin_expect(!plain, 0)) return record_push<const char*>(0, level, text);
  enter_known(block);
  bool done = push_known(block, text, level);
  leave_known(block);
  return done ? int(level) : record_push<const char*>(0, level, text);
}

// Removes a range that is not the innermost from the stack.
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

__attribute__((noinline)) int record_pop(u32 domain, u32 level, u64 t) {
  if (ThreadBlock* block = enter()) {
    close_pushed(block, key_of(domain, level), t);
    leave(block);
  }
  return int(level);
}

__attribute__((noinline)) int pop_step(u32 domain, u32 level) {
  t_step_range = nullptr;
  u64 t = now_ticks();
  if (ThreadBlock* block = enter()) {
    if (block->pushed_count) close_pushed(block, key_of(domain, level), t);
    report_step_end();
    leave(block);
  }
  return int(level);
}

inline int pop_in(u32 domain) {
  if (t_levels[domain] == 0) return -1;
  bool is_step = t_step_range == key_of(domain, t_levels[domain]);
  u32 level = --t_levels[domain];
  if (__builtin_expect(is_step, 0)) return pop_step(domain, level);
  ThreadBlock* block = t_self.block;
  if (!block || block->pushed_count == 0) return int(level);
  if (__builtin_expect(!ticks_are_counted(), 0)) return record_pop(domain, level, now_ticks());
  u64 t = counter_ticks();
  // The innermost range, with its record in the current chunk: again without a call.
  if (__builtin_expect(block->busy.load(std::memory_order_relaxed), 0)) return record_pop(domain, level, t);
  enter_known(block);
  const OpenRange& last = block->pushed[block->pushed_count - 1];
  bool here = last.key == key_of(domain, level) && last.epoch == recording_epoch() && last.epoch == block->epoch &&
              block->chunk && block->chunk_index == last.ref >> 32;
  if (__builtin_expect(here, 1)) {
    *last.end_ticks = t;
    block->pushed_count--;
    block->label_count -= block->label_count != 0;
  }
  leave_known(block);
  return __builtin_expect(here, 1) ? int(level) : record_pop(domain, level, t);
}

}  // namespace

int push(const char* message) { return push_text(message); }
int push_wide(const wchar_t* message) { return push_in(0, message); }
int push_ex(const Attributes* a) { return domain_push_ex(nullptr, a); }
int pop() { return pop_in(0); }
int domain_push_ex(Domain* domain, const Attributes* a) { return push_in(index_of(domain), checked(a)); }
int domain_pop(Domain* domain) { return pop_in(index_of(domain)); }
int push_payload(Domain* domain, const void*, size_t) { return push_in(index_of(domain), kNoAttributes); }
int pop_payload(Domain* domain, const void*, size_t) { return domain_pop(domain); }

}  // namespace tprof::nvtx
