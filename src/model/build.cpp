#include "model/build.h"

#include <string.h>

#include <algorithm>
#include <unordered_map>

#include "base/process.h"
#include "model/collectives.h"
#include "model/death.h"
#include "model/gpu/load.h"
#include "model/job.h"
#include "model/machine.h"
#include "model/nccl.h"
#include "model/passes.h"
#include "model/python.h"
#include "model/samples.h"
#include "model/settled.h"
#include "model/stacks.h"

namespace tprof {
namespace {

constexpr double kLongest_ns = 1e18;  // more than thirty years; a damaged header may say more

class Loader {
 public:
  Loader(Recording& recording, const Meta& meta, const SpanRequest& request, const ClockMap& clock, Model& model)
      : recording_(recording),
        meta_(meta),
        request_(request),
        clock_(clock),
        model_(model),
        names_(meta, model),
        threads_(meta, model),
        python_(meta, model, names_),
        frames_(model),
        stacks_(meta, model, frames_),
        offset_ns_(clock.wall_offset_ns(request.begin_ticks)) {}

  void load();
  const Damage& damage() const { return damage_; }
  std::vector<GroupMark> group_marks() const;
  NcclReports take_reports() { return std::move(reports_); }
  i64 to_ns(u64 ticks) const { return clock_.monotonic_ns(ticks) + offset_ns_ - i64(model_.base_time_ns); }

 private:
  void add_range(const RecordView& view);
  void add_memory(const RecordView& view);
  void add_library_call(const RecordView& view);
  void add_report(const RecordView& view);
  void add_nvtx(const RecordView& view);
  void add_python_call(const RecordView& view);
  void add_event(Event& e, const RecordView& view, u64 begin_ticks, u64 end_ticks);
  bool in_span(u64 ticks);
  bool torch_keeps_memory() const;
  void add_end(const RangeEndRecord& record, GpuLoader& gpu);
  void finish(Event& event, u64 end_ticks);
  // Whether that is the end of an event that was at the same place before: chunks are used again in flight mode.
  bool is_earlier(u64 end_ticks, const Event& event) const { return to_ns(end_ticks) < event.begin_ns; }

  Recording& recording_;
  const Meta& meta_;
  const SpanRequest& request_;
  const ClockMap& clock_;
  Model& model_;
  NameTable names_;
  ThreadTable threads_;
  PythonLoader python_;
  FrameTable frames_;
  StackTable stacks_;
  i64 offset_ns_;
  u64 end_ticks_ = 0;
  bool torch_reports_memory_ = false;
  NcclReports reports_;
  Damage damage_;
  std::unordered_map<RecordRef, u32> open_;  // events without an end yet
  std::unordered_map<RecordRef, u64>
      early_ends_;  // ends that were read before the event itself (in the chunk of another thread)
};

void Loader::load() {
  const FileHeader& h = recording_.header();
  end_ticks_ = request_.end_ticks;
  if (end_ticks_ == 0) {
    end_ticks_ = std::max(last_ticks_of(recording_, meta_), request_.begin_ticks) + 1;
    model_.process_ended_inside = true;
    if (u32 signal = h.killed_by.load(); signal <= kSignals) model_.killed_by = int(signal);
  }
  i64 begin_real = clock_.realtime_ns(request_.begin_ticks);
  // A base after the span (a damaged header, a clock that was set back) would cause negative times, which viewers
  // cannot show.
  model_.base_time_ns = h.base_time_ns <= u64(begin_real) ? h.base_time_ns : 0;
  model_.begin_ns = to_ns(request_.begin_ticks);
  model_.end_ns = std::max(to_ns(end_ticks_), model_.begin_ns);

  i64 from_monotonic_ns = offset_ns_ - i64(model_.base_time_ns);
  GpuLoader gpu(model_, meta_, clock_, names_, threads_, stacks_, from_monotonic_ns,
                request_.warmup_ticks ? to_ns(request_.warmup_ticks) : model_.begin_ns);
  Damage before = recording_.damage();
  recording_.for_each_data(request_.first_epoch, request_.last_epoch, [&](const RecordView& view) {
    if (is_range(view))
      add_range(view);
    else if (view.kind() == Kind::memory)
      add_memory(view);
    else if (view.kind() == Kind::nvtx)
      add_nvtx(view);
    else if (view.kind() == Kind::python_call)
      add_python_call(view);
    else if (view.kind() == Kind::range_end)
      add_end(view.as<RangeEndRecord>(), gpu);
    else if (view.kind() == Kind::nccl_op || view.kind() == Kind::nccl_wire)
      add_report(view);
    else if (!gpu.add(view) && view.kind() == Kind::call)
      add_library_call(view);
  });
  if (torch_reports_memory_ || torch_keeps_memory()) gpu.torch_reports_memory();
  gpu.finish();
  damage_ = recording_.damage() - before;
  damage_ = damage_ + load_samples(recording_, meta_, from_monotonic_ns, model_, frames_, threads_);
  for (const auto& [ref, index] : open_) {
    auto end = early_ends_.find(ref);
    Event& event = model_.events[index];
    finish(event, end == early_ends_.end() || is_earlier(end->second, event) ? 0 : end->second);
  }
}

std::vector<GroupMark> Loader::group_marks() const {
  std::vector<GroupMark> out;
  for (const GroupRecord& r : meta_.groups)
    out.push_back(
        {r.address, to_ns(r.ticks), r.sequence, r.head.id, names_(r.name), names_(r.description), names_(r.ranks)});
  return out;
}

// True if torch runs but does not report memory: its allocators keep what they get from CUDA, so that is not what the
// program allocates.
bool Loader::torch_keeps_memory() const {
  auto ops = meta_.capabilities.find("ops");
  std::string memory = meta_.option("profile_memory");
  return ops != meta_.capabilities.end() && ops->second.on && (memory.empty() || memory == "0");
}

bool Loader::in_span(u64 ticks) {
  if (ticks >= request_.begin_ticks) return ticks < end_ticks_;
  if (request_.warmup_ticks && ticks >= request_.warmup_ticks) model_.ledger.discarded_warmup++;
  return false;
}

void Loader::add_memory(const RecordView& view) {
  const auto& r = view.as<MemoryRecord>();
  u32 what = r.head.id;
  if (u8(what) == kCudaDeviceType) torch_reports_memory_ = true;
  if (!in_span(r.ticks)) return;
  model_.add_memory({to_ns(r.ticks), r.address, r.bytes, r.total_allocated, r.total_reserved, threads_(view.tid),
                     u8(what), i8(what >> 8), u8(what >> 16), stacks_(stack_of(r))});
}

void Loader::add_range(const RecordView& view) {
  RangeView r = range_of(view);
  if (!in_span(r.begin_ticks)) return;
  Event e;
  e.name = names_(view.record->id);
  e.sequence = r.sequence;
  e.forward_thread = u32(r.forward_thread);
  e.scope = r.scope;
  e.stack = stacks_(r.stack);
  if (r.flags & kRangeAsync) e.flags |= kEventAsync;
  if (r.flags & kRangeHasInputs) e.flags |= kEventHasInputs;
  if (r.inputs) {
    e.inputs_count = r.inputs;
    e.inputs_bytes = r.inputs_bytes;
    e.inputs = model_.arena.copy(r.inputs_at, e.inputs_bytes);
  }
  if (r.flags & kRangeInputsCut) model_.ledger.inputs_cut++;
  add_event(e, view, r.begin_ticks, r.end_ticks);
}

// A call into NCCL becomes a range of its thread, since it makes CUDA calls itself.
void Loader::add_library_call(const RecordView& view) {
  const auto& r = view.as<CallRecord>();
  if (!in_span(r.begin_ticks)) return;
  Event e;
  e.name = names_(r.head.id);
  e.stack = stacks_(r.stack);
  e.scope = u8(Scope::user);
  if ((r.flags & kCallOnComm) && view.bytes() >= sizeof r + sizeof(NcclPart)) {
    e.flags |= kEventNccl;
    e.nccl = model_.arena.copy(nccl_detail(*reinterpret_cast<const NcclPart*>(&r + 1), r));
  }
  add_event(e, view, r.begin_ticks, r.end_ticks);
}

// What NCCL tells its profiler. An operation is kept in the order of its thread, a transfer by its operation.
void Loader::add_report(const RecordView& view) {
  if (view.kind() == Kind::nccl_wire) {
    const auto& r = view.as<NcclWireRecord>();
    if (in_span(r.begin_ticks)) reports_.wires[r.head.id].push_back({to_ns(r.begin_ticks), to_ns(r.end_ticks)});
    return;
  }
  const auto& r = view.as<NcclOpRecord>();
  if (in_span(r.ticks)) reports_.operations.push_back({to_ns(r.ticks), threads_(view.tid), r});
}

void Loader::add_nvtx(const RecordView& view) {
  const auto& r = view.as<NvtxRecord>();
  if (!in_span(r.begin_ticks)) return;
  u32 name = names_(r.head.id);
  NvtxDetail detail = detail_of(r, names_);
  if (r.what == u8(NvtxWhat::mark)) {
    if (name == kLostName) model_.ledger.names_lost++;
    model_.marks.push_back({to_ns(r.begin_ticks), name, threads_(view.tid), detail});
    return;
  }
  Event e;
  e.name = name;
  e.scope = u8(Scope::user);
  e.flags = kEventNvtx | (r.what == u8(NvtxWhat::start_end) ? kEventAsync : 0);
  e.nvtx = model_.arena.copy(detail);
  add_event(e, view, r.begin_ticks, r.end_ticks);
}

void Loader::add_python_call(const RecordView& view) {
  const auto& r = view.as<PythonCallRecord>();
  if (!in_span(r.begin_ticks)) return;
  Event e = python_.event_of(r);
  add_event(e, view, r.begin_ticks, r.end_ticks);
}

// end_ticks 0: a range_end record may hold the end.
void Loader::add_event(Event& e, const RecordView& view, u64 begin_ticks, u64 end_ticks) {
  e.begin_ns = to_ns(begin_ticks);
  e.thread = threads_(view.tid);
  if (e.name == kLostName) model_.ledger.names_lost++;
  if (end_ticks)
    finish(e, end_ticks);
  else
    open_[view.ref] = u32(model_.events.size());
  model_.events.push_back(e);
}

void Loader::add_end(const RangeEndRecord& record, GpuLoader& gpu) {
  if (gpu.end(record.begin, record.end_ticks)) return;
  auto it = open_.find(record.begin);
  if (it == open_.end()) {
    if (record.end_ticks >= request_.begin_ticks) early_ends_[record.begin] = record.end_ticks;
    return;
  }
  if (is_earlier(record.end_ticks, model_.events[it->second])) return;
  finish(model_.events[it->second], record.end_ticks);
  open_.erase(it);
}

// end_ticks 0: the end was not recorded.
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
  if (h.boot_id[0]) model.info[kBootId] = h.boot_id;
  model.capabilities = meta.capabilities;
  model.kind = request.kind;
  model.before_training = request.before_training;
  model.window = request.window;
  JobPlace place = place_of(h, meta);
  model.rank = place.rank;
  model.world_size = place.world_size;
  model.local_rank = place.local_rank;
  model.recorded_ranks = meta.option("ranks");
  auto main_thread = meta.threads.find(h.pid);
  if (main_thread != meta.threads.end()) model.process_name = main_thread->second.name;
  if (model.process_name.empty()) model.process_name = "python";
  u32 stopped = h.stopped.load();
  u32 reason = 0;
  for (const char* word : kDropNames) {
    if (u64 count = h.dropped[reason].load()) model.process_dropped[word] = count;
    if (++reason == stopped) model.stopped = word;
  }
  model.identity = std::string(h.boot_id) + "/" + std::to_string(h.pid) + "/" + std::to_string(h.process_start) + "/" +
                   std::to_string(request.begin_ticks) + "/" + std::to_string(request.end_ticks) + "/" + request.kind;
}

// What asked for the trace of a window, if that was not the schedule.
void describe_trigger(Model& model, const Recording& recording, const Meta& meta, const SpanRequest& request,
                      const ClockMap& clock) {
  TriggerFacts& out = model.trigger;
  const FileHeader& h = recording.header();
  bool is_flight = request.kind == kFlightKind;
  i64 first_step = h.ring_first_step.load(), ended_step = i64(u64(h.step.number.load()) - 1);
  for (const TriggerRecord& t : meta.triggers)
    if (t.head.id == request.window && out.why.empty()) {
      out.why = trigger_text(t);
      first_step = t.first_step, ended_step = t.ended_step;
    }
  // A window that was sealed shows it: a finisher may read that before the recording is closed.
  if (is_flight && out.why.empty()) out.why = request.end_ticks ? "the program ended" : "the program died";
  if (out.why.empty()) return;
  out.refused = h.refused_triggers.load();
  if (!is_flight) return;
  // What lies between the window before and this one.
  u64 from = 0;
  for (const WindowInfo& w : meta.windows)
    if (w.number < request.window && w.is_recorded()) from = std::max(from, w.end_ticks);
  u64 since = from || meta.clocks.empty() ? from : meta.clocks.front().ticks;
  if (since && since < request.begin_ticks)
    out.dropped_ns = u64(clock.monotonic_ns(request.begin_ticks) - clock.monotonic_ns(since));
  i64 last_dropped = ended_step;
  for (const StepInfo& s : settled_steps(meta))
    if (!s.end_ticks || s.end_ticks > request.begin_ticks) last_dropped = std::min(last_dropped, s.number - 1);
  if (last_dropped >= first_step) out.dropped_steps = u64(last_dropped) - u64(first_step) + 1;
}

void count_gpu(Model& model) {
  GpuLedger& l = model.ledger.gpu;
  for (const GpuEvent& e : model.gpu) switch (e.kind()) {
      case Kind::kernel: l.kernels++; break;
      case Kind::copy: l.copies++; break;
      case Kind::set: l.sets++; break;
      case Kind::sync: l.syncs++; break;
      case Kind::graph: l.graphs++; break;
      case Kind::gpu_event: l.events++; break;
      default: l.overheads++;
    }
  for (const CallEvent& c : model.calls)
    (c.seen == kSeenByUs ? l.calls_by_us : c.seen == kSeenByCupti ? l.calls_by_cupti : l.calls_by_both)++;
}

}  // namespace

const char* Arena::copy(const void* bytes, size_t size) {
  constexpr size_t kBlock = 1 << 20;
  if (used_ + size > capacity_) {
    capacity_ = std::max(kBlock, size);
    blocks_.emplace_back(new char[capacity_]);
    used_ = 0;
  }
  char* at = blocks_.back().get() + used_;
  memcpy(at, bytes, size);
  used_ += (size + 7) & ~size_t(7);
  return at;
}

SpanRequest request_of(const WindowInfo& window, const Meta& meta) {
  SpanRequest r;
  r.begin_ticks = window.begin_ticks;
  r.end_ticks = window.end_ticks;
  r.first_step = window.first_step;
  r.end_step = window.first_step >= 0 ? window.end_step : -1;
  for (const WindowInfo& w : meta.windows)  // the window before may hold its start; discarded ones may lie between
    if (w.number < window.number && w.state != WindowState::discarded) r.first_epoch = 2 * w.number + 1;
  r.last_epoch = 2 * window.number + 3;
  r.warmup_ticks = window.warmup_ticks;
  r.window = window.number;
  r.before_training = is_before_training(window, meta);
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

u64 last_ticks_of(Recording& recording, const Meta& meta) {
  u64 last = meta.clocks.empty() ? 0 : meta.clocks.back().ticks;
  for (const StepInfo& s : meta.steps) last = std::max({last, s.begin_ticks, s.end_ticks});
  ClockMap clock = clock_of(recording, meta);
  recording.for_each_data(0, 0xffffffff, [&](const RecordView& view) {
    last = std::max(last, view.kind() == Kind::api ? stamp_of(view, clock) : event_ticks(view));
    if (is_range(view)) last = std::max(last, range_of(view).end_ticks);
    if (view.kind() == Kind::call) last = std::max(last, view.as<CallRecord>().end_ticks);
    if (view.kind() == Kind::nvtx) last = std::max(last, view.as<NvtxRecord>().end_ticks);
    if (view.kind() == Kind::python_call) last = std::max(last, view.as<PythonCallRecord>().end_ticks);
    if (view.kind() == Kind::range_end) last = std::max(last, view.as<RangeEndRecord>().end_ticks);
  });
  return last;
}

Model build_model(Recording& recording, const Meta& meta, const SpanRequest& request) {
  Model model;
  ClockMap clock = clock_of(recording, meta);
  describe(model, recording, meta, request);
  describe_trigger(model, recording, meta, request, clock);
  model.ledger.clock = clock.doubt();
  Loader loader(recording, meta, request, clock, model);
  loader.load();
  model.damage = request.meta_damage + loader.damage();
  model.own_ns = u64(std::min(double(recording.header().own_ticks.load()) * clock.rate(), kLongest_ns));
  std::stable_sort(model.memory.begin(), model.memory.end(),
                   [](const MemoryEvent& a, const MemoryEvent& b) { return a.ns < b.ns; });
  std::stable_sort(model.marks.begin(), model.marks.end(),
                   [](const NvtxMark& a, const NvtxMark& b) { return a.ns < b.ns; });
  model.ledger.written = model.memory.size() + model.marks.size() + model.calls.size() + model.gpu.size();
  if (model.empty()) return model;

  add_steps(model, meta, request, [&](u64 ticks) { return loader.to_ns(ticks); });
  NcclReports reports = loader.take_reports();
  join_nccl_reports(model, reports);
  std::vector<u32> python_parents = number_python_calls(model);
  nest_events(model);
  mend_python_parents(model, python_parents);
  link_forward_backward(model);
  attribute_gpu_work(model);
  describe_gpu_work(model);
  find_collectives(model, loader.group_marks());
  find_nccl_operations(model);

  for (Event& e : model.events) {
    if (e.flags & kEventStep) continue;
    model.ledger.written++;
    model.ledger.clipped += (e.flags & kEventClipped) != 0;
    model.ledger.unfinished += (e.flags & kEventUnfinished) != 0;
    model.ledger.clamped += (e.flags & kEventClamped) != 0;
  }
  count_gpu(model);
  return model;
}

}  // namespace tprof
