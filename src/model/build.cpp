#include "model/build.h"

#include <string.h>

#include <algorithm>
#include <unordered_map>

#include "base/process.h"
#include "model/passes.h"

namespace tprof {
namespace {

constexpr u32 kLostName = 0;  // names[0] stands for every name that the recording does not hold

// Name ids of the recording -> indices of Model::names.
class NameTable {
 public:
  NameTable(const Meta& meta, Model& model) {
    model.names.reserve(meta.names.size() + 1);
    model.names.push_back("(name lost)");
    ids_.reserve(meta.names.size());
    for (const auto& [id, text] : meta.names) {
      ids_.emplace(id, static_cast<u32>(model.names.size()));
      model.names.push_back(text);
    }
  }
  u32 operator()(u32 id) const {
    auto it = ids_.find(id);
    return it == ids_.end() ? kLostName : it->second;
  }

 private:
  std::unordered_map<u32, u32> ids_;
};

class Loader {
 public:
  Loader(Recording& recording, const Meta& meta, const SpanRequest& request, const ClockMap& clock,
         Model& model)
      : recording_(recording),
        meta_(meta),
        request_(request),
        clock_(clock),
        model_(model),
        names_(meta, model),
        offset_ns_(clock.wall_offset_ns(request.begin_ticks)) {}

  void load();
  const Damage& damage() const { return damage_; }
  i64 to_ns(u64 ticks) const {
    return clock_.monotonic_ns(ticks) + offset_ns_ - static_cast<i64>(model_.base_time_ns);
  }

 private:
  void add_range(const RecordView& view);
  void add_memory(const RecordView& view);
  void add_nvtx(const RecordView& view);
  bool in_span(u64 ticks);
  void add_end(const RangeEndRecord& record);
  u32 thread_index(u32 tid);
  void finish(Event& event, u64 end_ticks);

  Recording& recording_;
  const Meta& meta_;
  const SpanRequest& request_;
  const ClockMap& clock_;
  Model& model_;
  NameTable names_;
  i64 offset_ns_;
  u64 end_ticks_ = 0;
  Damage damage_;
  std::unordered_map<u32, u32> threads_;
  std::unordered_map<RecordRef, u32> open_;        // events without an end yet
  std::unordered_map<RecordRef, u64> early_ends_;  // ends read before their begin (another thread's chunk)
};

void Loader::load() {
  const FileHeader& h = recording_.header();
  end_ticks_ = request_.end_ticks;
  if (end_ticks_ == 0) {
    end_ticks_ = std::max(last_ticks_of(recording_, meta_), request_.begin_ticks) + 1;
    model_.process_ended_inside = true;
  }
  i64 begin_real = clock_.realtime_ns(request_.begin_ticks);
  // A base that lies after the span (a damaged header, a clock set back) would make times negative, which
  // viewers cannot show.
  model_.base_time_ns = h.base_time_ns <= static_cast<u64>(begin_real) ? h.base_time_ns : 0;
  model_.begin_ns = to_ns(request_.begin_ticks);
  model_.end_ns = std::max(to_ns(end_ticks_), model_.begin_ns);

  Damage before = recording_.damage();
  recording_.for_each_data(request_.first_epoch, request_.last_epoch, [this](const RecordView& view) {
    if (is_range(view))
      add_range(view);
    else if (view.kind() == Kind::memory)
      add_memory(view);
    else if (view.kind() == Kind::nvtx)
      add_nvtx(view);
    else if (view.kind() == Kind::range_end)
      add_end(view.as<RangeEndRecord>());
  });
  damage_ = recording_.damage() - before;
  for (const auto& [ref, index] : open_) {
    auto end = early_ends_.find(ref);
    finish(model_.events[index], end == early_ends_.end() ? 0 : end->second);
  }
}

bool Loader::in_span(u64 ticks) {
  if (ticks >= request_.begin_ticks) return ticks < end_ticks_;
  if (request_.warmup_ticks && ticks >= request_.warmup_ticks) model_.ledger.discarded_warmup++;
  return false;
}

void Loader::add_memory(const RecordView& view) {
  const auto& r = view.as<MemoryRecord>();
  if (!in_span(r.ticks)) return;
  u32 what = r.head.id;
  model_.memory.push_back({to_ns(r.ticks), r.address, r.bytes, r.total_allocated, r.total_reserved,
                           thread_index(view.tid), static_cast<u8>(what), static_cast<i8>(what >> 8),
                           static_cast<u8>(what >> 16)});
}

void Loader::add_range(const RecordView& view) {
  RangeView r = range_of(view);
  if (!in_span(r.begin_ticks)) return;
  Event e;
  e.begin_ns = to_ns(r.begin_ticks);
  e.name = names_(view.record->id);
  if (e.name == kLostName) model_.ledger.names_lost++;
  e.thread = thread_index(view.tid);
  e.sequence = r.sequence;
  e.forward_thread = r.forward_thread;
  e.scope = r.scope;
  if (r.flags & kRangeAsync) e.flags |= kEventAsync;
  if (r.flags & kRangeHasInputs) e.flags |= kEventHasInputs;
  if (r.inputs) {
    e.inputs_count = r.inputs;
    e.inputs_bytes = r.inputs_bytes;
    e.inputs = model_.arena.copy(r.inputs_at, e.inputs_bytes);
  }
  if (r.flags & kRangeInputsCut) model_.ledger.inputs_cut++;
  if (r.end_ticks)
    finish(e, r.end_ticks);
  else
    open_[view.ref] = static_cast<u32>(model_.events.size());
  model_.events.push_back(e);
}

void Loader::add_nvtx(const RecordView& view) {
  const auto& r = view.as<NvtxRecord>();
  if (!in_span(r.begin_ticks)) return;
  u32 name = names_(r.head.id), thread = thread_index(view.tid);
  if (name == kLostName) model_.ledger.names_lost++;
  NvtxDetail detail = detail_of(r, names_);
  if (r.what == static_cast<u8>(NvtxWhat::mark)) {
    model_.marks.push_back({to_ns(r.begin_ticks), name, thread, detail});
    return;
  }
  Event e;
  e.begin_ns = to_ns(r.begin_ticks);
  e.name = name;
  e.thread = thread;
  e.scope = static_cast<u8>(Scope::user);
  e.flags = kEventNvtx | (r.what == static_cast<u8>(NvtxWhat::start_end) ? kEventAsync : 0);
  e.inputs = model_.arena.copy(&detail, sizeof detail);
  if (r.end_ticks)
    finish(e, r.end_ticks);
  else
    open_[view.ref] = static_cast<u32>(model_.events.size());
  model_.events.push_back(e);
}

void Loader::add_end(const RangeEndRecord& record) {
  auto it = open_.find(record.begin);
  if (it == open_.end()) {
    if (record.end_ticks >= request_.begin_ticks) early_ends_[record.begin] = record.end_ticks;
    return;
  }
  finish(model_.events[it->second], record.end_ticks);
  open_.erase(it);
}

u32 Loader::thread_index(u32 tid) {
  auto [it, added] = threads_.emplace(tid, static_cast<u32>(model_.threads.size()));
  if (added) {
    TraceThread thread;
    thread.tid = thread.owner = tid;
    auto known = meta_.threads.find(tid);
    if (known != meta_.threads.end()) {
      thread.torch_thread = known->second.torch_thread;
      thread.name = known->second.name;
    }
    model_.threads.push_back(std::move(thread));
  }
  return it->second;
}

// end_ticks 0: nobody saw the end.
void Loader::finish(Event& e, u64 end_ticks) {
  if (end_ticks == 0 || end_ticks > end_ticks_) {
    e.flags |= end_ticks == 0 && model_.process_ended_inside ? kEventUnfinished : kEventClipped;
    e.dur_ns = model_.end_ns - e.begin_ns;
  } else {
    e.dur_ns = to_ns(end_ticks) - e.begin_ns;
  }
  e.dur_ns = std::max<i64>(e.dur_ns, 0);
}

void describe(Model& model, const Recording& recording, const Meta& meta, const SpanRequest& request) {
  const FileHeader& h = recording.header();
  model.host = h.host;
  model.pid = h.pid;
  model.info = meta.info;
  model.capabilities = meta.capabilities;
  model.kind = request.kind;
  model.window = request.window;
  auto main_thread = meta.threads.find(h.pid);
  if (main_thread != meta.threads.end()) model.process_name = main_thread->second.name;
  if (model.process_name.empty()) model.process_name = "python";
  u32 stopped = h.stopped.load();
  u32 reason = 0;
  for (const char* word : kDropWords) {
    if (u64 count = h.dropped[reason].load()) model.process_dropped[word] = count;
    if (++reason == stopped) model.stopped = word;
  }
  model.identity = std::string(h.boot_id) + "/" + std::to_string(h.pid) + "/" +
                   std::to_string(h.process_start) + "/" + std::to_string(request.begin_ticks) + "/" +
                   std::to_string(request.end_ticks) + "/" + request.kind;
}

}  // namespace

const char* Arena::copy(const void* bytes, size_t size) {
  constexpr size_t kBlock = 1 << 20;
  if (used_ + size > room_) {
    room_ = std::max(kBlock, size);
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(room_));
    used_ = 0;
  }
  char* at = blocks_.back().get() + used_;
  memcpy(at, bytes, size);
  used_ += (size + 7) & ~size_t(7);
  return at;
}

SpanRequest request_of(const WindowInfo& window) {
  SpanRequest r;
  r.begin_ticks = window.begin_ticks;
  r.end_ticks = window.end_ticks;
  r.first_step = window.first_step;
  r.end_step = window.first_step >= 0 ? window.end_step : -1;
  r.first_epoch = window.number ? 2 * window.number - 1 : 0;
  r.last_epoch = 2 * window.number + 3;
  r.warmup_ticks = window.warmup_ticks;
  r.window = window.number;
  return r;
}

Damage operator+(const Damage& a, const Damage& b) {
  return {a.bad_chunks + b.bad_chunks, a.bad_records + b.bad_records, a.unknown_kinds + b.unknown_kinds,
          a.missing_chunks + b.missing_chunks};
}

Damage operator-(const Damage& a, const Damage& b) {
  return {a.bad_chunks - b.bad_chunks, a.bad_records - b.bad_records, a.unknown_kinds - b.unknown_kinds,
          a.missing_chunks - b.missing_chunks};
}

ClockMap clock_of(const Recording& recording, const Meta& meta) {
  const FileHeader& h = recording.header();
  ProcessIdentity me = process_identity(1);
  return ClockMap(meta.clocks, static_cast<ClockKind>(h.clock_kind), h.created_ns,
                  me.boot_id[0] && !strcmp(me.boot_id, h.boot_id));
}

std::vector<StepInfo> settled_steps(const Meta& meta) {
  std::vector<StepInfo> steps;
  for (const StepInfo& s : meta.steps)
    if (s.flags & kStepHasWork) steps.push_back(s);
  std::sort(steps.begin(), steps.end(), [](auto& a, auto& b) { return a.begin_ticks < b.begin_ticks; });
  return steps;
}

u64 last_ticks_of(Recording& recording, const Meta& meta) {
  u64 last = meta.clocks.empty() ? 0 : meta.clocks.back().ticks;
  for (const StepInfo& s : meta.steps) last = std::max({last, s.begin_ticks, s.end_ticks});
  recording.for_each_data(0, 0xffffffff, [&](const RecordView& view) {
    last = std::max(last, event_ticks(view));
    if (is_range(view)) last = std::max(last, range_of(view).end_ticks);
    if (view.kind() == Kind::nvtx) last = std::max(last, view.as<NvtxRecord>().end_ticks);
    if (view.kind() == Kind::range_end) last = std::max(last, view.as<RangeEndRecord>().end_ticks);
  });
  return last;
}

Model build_model(Recording& recording, const Meta& meta, const SpanRequest& request) {
  Model model;
  ClockMap clock = clock_of(recording, meta);
  describe(model, recording, meta, request);
  model.ledger.clock = clock.doubt();
  Loader loader(recording, meta, request, clock, model);
  loader.load();
  model.damage = request.meta_damage + loader.damage();
  model.own_ns = static_cast<u64>(double(recording.header().own_ticks.load()) * clock.rate());
  std::stable_sort(model.memory.begin(), model.memory.end(),
                   [](const MemoryEvent& a, const MemoryEvent& b) { return a.ns < b.ns; });
  std::stable_sort(model.marks.begin(), model.marks.end(),
                   [](const NvtxMark& a, const NvtxMark& b) { return a.ns < b.ns; });
  model.ledger.written = model.memory.size() + model.marks.size();
  if (model.empty()) return model;

  add_steps(model, step_edges(settled_steps(meta), model, request.first_step, request.end_step,
                              [&](u64 ticks) { return loader.to_ns(ticks); }));
  nest_events(model);
  link_forward_backward(model);

  for (Event& e : model.events) {
    if (e.flags & kEventStep) continue;
    model.ledger.written++;
    model.ledger.clipped += (e.flags & kEventClipped) != 0;
    model.ledger.unfinished += (e.flags & kEventUnfinished) != 0;
    model.ledger.clamped += (e.flags & kEventClamped) != 0;
  }
  return model;
}

}  // namespace tprof
