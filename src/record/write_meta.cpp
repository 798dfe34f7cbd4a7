// The meta stream of a recording: its records, one function for each kind.
#include <string.h>

#include <algorithm>

#include "record/writer.h"

namespace tprof {

// Returns space for one meta record; the caller holds meta_lock_. It is zeroed, since chunks start as zeros and are
// filled once.
char* Writer::space_in(MetaChunk& chunk, Stream stream, size_t bytes) {
  if (!header_ || bytes > kChunkBytes - sizeof(ChunkHeader)) return nullptr;
  if (!has_room(chunk, bytes)) {
    ChunkHeader* next = take_chunk(stream, 0, 0);
    if (!next) return nullptr;
    chunk = {reinterpret_cast<char*>(next), sizeof(ChunkHeader)};
  }
  char* at = chunk.at + chunk.used;
  chunk.used += bytes;
  return at;
}

// Old chunks stay mapped, since their records are patched.
char* Writer::meta_space(size_t bytes) { return space_in(meta_, Stream::meta, bytes); }

// For records that a long run has without end. In flight mode they are given back with the data of their time, but for
// chunks that hold a step which is still patched: hours may pass without another one, with a clock stamp each second.
char* Writer::steps_space(size_t bytes) {
  if (!flight_) return meta_space(bytes);
  auto* full = reinterpret_cast<ChunkHeader*>(has_room(steps_, bytes) ? nullptr : steps_.at);
  char* at = space_in(steps_, Stream::steps, bytes);
  if (!at || !full) return at;
  *std::find(std::begin(steps_full_), std::end(steps_full_), nullptr) = full;
  for (ChunkHeader*& chunk : steps_full_) {
    if (!chunk || is_patched(*chunk)) continue;
    note_epoch(chunk->index, kSteps | (1 + header_->epoch.load(std::memory_order_relaxed)));
    retire_chunk(chunk);
    chunk = nullptr;
  }
  return at;
}

bool Writer::is_patched(const ChunkHeader& chunk) const {
  auto begin = reinterpret_cast<const char*>(&chunk);
  return std::any_of(std::begin(patched_), std::end(patched_), [&](const StepRecord* step) {
    auto at = reinterpret_cast<const char*>(step);
    return at >= begin && at < begin + kChunkBytes;
  });
}

void Writer::publish(char* at, Kind kind, u32 id, size_t bytes) {
  RecordHead head{u16(kind), u16(bytes / 8), id};
  u64 word;
  memcpy(&word, &head, sizeof word);
  std::atomic_ref<u64>(*reinterpret_cast<u64*>(at)).store(word, std::memory_order_release);
  touch_meta();
}

const NameRecord* Writer::add_name(const char* text, size_t bytes) {
  constexpr size_t kLongest = 64 << 10;
  if (bytes > kLongest) bytes = kLongest;
  SpinGuard guard(meta_lock_);
  size_t size = (sizeof(NameRecord) + bytes + 1 + 7) & ~size_t(7);
  char* at = meta_space(size);
  if (!at) return nullptr;
  auto* r = reinterpret_cast<NameRecord*>(at);
  r->bytes = u32(bytes);
  memcpy(r + 1, text, bytes);
  publish(at, Kind::name, next_name_++, size);
  return r;
}

void Writer::add_thread(u32 tid, u64 torch_thread, const char* name) {
  SpinGuard guard(meta_lock_);
  size_t bytes = strnlen(name, 255);
  size_t size = bytes <= sizeof ThreadRecord::name ? sizeof(ThreadRecord)
                                                   : (offsetof(ThreadRecord, name) + bytes + 7) & ~size_t(7);
  char* at = meta_space(size);
  if (!at) return;
  auto* r = reinterpret_cast<ThreadRecord*>(at);
  r->torch_thread = torch_thread;
  r->begin_ticks = now_ticks();
  memcpy(at + offsetof(ThreadRecord, name), name, bytes);
  publish(at, Kind::thread, tid, size);
}

void Writer::add_clock(const ClockTriple& clock) {
  SpinGuard guard(meta_lock_);
  // The first one stays: it says when the recording began.
  char* at = meta_.at ? steps_space(sizeof(ClockRecord)) : meta_space(sizeof(ClockRecord));
  if (!at) return;
  auto* r = reinterpret_cast<ClockRecord*>(at);
  r->ticks = clock.ticks;
  r->realtime_ns = clock.realtime_ns;
  r->monotonic_ns = clock.monotonic_ns;
  publish(at, Kind::clock, 0, sizeof *r);
}

StepRecord* Writer::add_step(StepBy by, i64 number, u64 begin, u32 tid, const StepRecord* before) {
  SpinGuard guard(meta_lock_);
  patched_[0] = before;
  char* at = steps_space(sizeof(StepRecord));
  if (!at) return nullptr;
  auto* r = reinterpret_cast<StepRecord*>(at);
  r->number = number;
  r->begin_ticks = begin;
  r->tid = tid;
  publish(at, Kind::step, u32(by), sizeof *r);
  patched_[1] = r;
  return r;
}

StretchRecord* Writer::add_stretch(StretchKind kind, i64 number, u64 begin, u32 tid) {
  SpinGuard guard(meta_lock_);
  char* at = meta_space(sizeof(StretchRecord));
  if (!at) return nullptr;
  auto* r = reinterpret_cast<StretchRecord*>(at);
  r->number = number;
  r->begin_ticks = begin;
  r->tid = tid;
  publish(at, Kind::stretch, u32(kind), sizeof *r);
  return r;
}

void Writer::add_stretch_part(u64 ticks) {
  StretchPartRecord record{{}, ticks};
  add_copy(Kind::stretch_part, 0, record, Stream::steps);
}

void Writer::add_group(u32 size, const GroupRecord& group) { add_copy(Kind::group, size, group); }

void Writer::add_restart(RestartWhy why, i64 number, u64 ticks) {
  RestartRecord record{{}, number, ticks};
  add_copy(Kind::restart, u32(why), record, Stream::steps);  // readers must find it after the steps that it concerns
}

WindowRecord* Writer::add_window(u32 number, WindowState state, u64 warmup, u32 tid) {
  SpinGuard guard(meta_lock_);
  char* at = meta_space(sizeof(WindowRecord));
  if (!at) return nullptr;
  auto* r = reinterpret_cast<WindowRecord*>(at);
  r->state.store(u32(state), std::memory_order_relaxed);
  r->tid = tid;
  r->first_step = r->end_step = -1;
  r->warmup_ticks = warmup;
  publish(at, Kind::window, number, sizeof *r);
  return r;
}

void Writer::add_capability(const char* name, bool on, const char* why) {
  add_pair(Kind::capability, on ? 1 : 0, name, why);
}

void Writer::add_info(const char* key, const char* value) { add_pair(Kind::info, 0, key, value); }

void Writer::add_pair(Kind kind, u32 id, const char* first, const char* second) {
  static_assert(sizeof(CapabilityRecord) == sizeof(RecordHead) && sizeof(InfoRecord) == sizeof(RecordHead));
  size_t a = strlen(first) + 1, b = strlen(second) + 1;
  size_t size = (sizeof(RecordHead) + a + b + 7) & ~size_t(7);
  SpinGuard guard(meta_lock_);
  char* at = meta_space(size);
  if (!at) return;
  memcpy(at + sizeof(RecordHead), first, a);
  memcpy(at + sizeof(RecordHead) + a, second, b);
  publish(at, kind, id, size);
}

void Writer::add_flush(u32 number, u64 ticks) {
  SpinGuard guard(meta_lock_);
  char* at = meta_space(sizeof(FlushRecord));
  if (!at) return;
  reinterpret_cast<FlushRecord*>(at)->ticks = ticks;
  publish(at, Kind::flush, number, sizeof(FlushRecord));
}

void Writer::add_trigger(u32 window, const TriggerRecord& trigger) { add_copy(Kind::trigger, window, trigger); }

template <class Record>
void Writer::add_copy(Kind kind, u32 id, const Record& record, Stream stream) {
  constexpr size_t kHead = sizeof(RecordHead);
  SpinGuard guard(meta_lock_);
  char* at = stream == Stream::steps ? steps_space(sizeof record) : meta_space(sizeof record);
  if (!at) return;
  memcpy(at + kHead, reinterpret_cast<const char*>(&record) + kHead, sizeof record - kHead);
  publish(at, kind, id, sizeof record);
}

void Writer::add_device(u32 id, const DeviceRecord& device) { add_copy(Kind::device, id, device); }
void Writer::add_context(u32 id, const ContextRecord& context) { add_copy(Kind::context, id, context); }

void Writer::add_image(u32 maps, const ImageRecord& image) { add_copy(Kind::image, maps, image); }
void Writer::add_module(u32 id, const ModuleRecord& module) { add_copy(Kind::module, id, module); }

const CodeRecord* Writer::add_code(u32 id, const CodeRecord& code, const char* table) {
  constexpr size_t kHead = sizeof(RecordHead);
  size_t size = (sizeof code + code.table_bytes + 7) & ~size_t(7);
  SpinGuard guard(meta_lock_);
  char* at = meta_space(size);
  if (!at) return nullptr;
  memcpy(at + kHead, reinterpret_cast<const char*>(&code) + kHead, sizeof code - kHead);
  memcpy(at + sizeof code, table, code.table_bytes);
  publish(at, Kind::code, id, size);
  return reinterpret_cast<const CodeRecord*>(at);
}

bool Writer::add_stack(u32 id, u32 parent, u32 code, u64 at) {
  SpinGuard guard(meta_lock_);
  auto* r = reinterpret_cast<StackRecord*>(meta_space(sizeof(StackRecord)));
  if (!r) return false;
  r->parent = parent;
  r->code = code;
  r->at = at;
  publish(reinterpret_cast<char*>(r), Kind::stack, id, sizeof *r);
  return true;
}

}  // namespace tprof
