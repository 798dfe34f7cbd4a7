#include "model/gpu/load.h"

#include <algorithm>
#include <cstring>

#include "symbols/demangle.h"

namespace tprof {
namespace {

constexpr u32 kDevices = 64;               // the number of devices that readers accept
constexpr i64 kSkewNs = 1'000'000;         // CUPTI's GPU times may be early by this much
constexpr i64 kNeighboursNs = 10'000'000;  // calls this near to the span are merged with those of CUPTI, too
constexpr i64 kLostTime = INT64_MIN, kBadTime = INT64_MIN + 1;  // instead of a start

}  // namespace

static bool is_nccl(const CallRecord& r) {
  return r.family == u8(CallFamily::nccl) || r.family == u8(CallFamily::comm);
}

bool GpuLoader::in_span(i64 ns) {
  if (ns >= model_.begin_ns) return ns < model_.end_ns;
  if (ns >= warmup_ns_) model_.ledger.discarded_warmup++;
  return false;
}

bool GpuLoader::add(const RecordView& view) {
  switch (view.kind()) {
    case Kind::call:
      if (is_nccl(view.as<CallRecord>())) return false;
      if (view.as<CallRecord>().end_ticks)
        add_call(view.as<CallRecord>(), view.tid, false);
      else
        open_calls_[view.ref] = {view.as<CallRecord>(), view.tid};
      return true;
    case Kind::api: add_api(view); return true;
#define ACTIVITY(kind, type)                                                                           \
  case Kind::kind:                                                                                     \
    add_activity<type>(view, view.as<type>().begin_ns, view.as<type>().end_ns, view.as<type>().place); \
    return true;
      ACTIVITY(kernel, KernelRecord)
      ACTIVITY(copy, CopyRecord)
      ACTIVITY(set, SetRecord)
      ACTIVITY(sync, SyncRecord)
      ACTIVITY(graph, GraphRecord)
#undef ACTIVITY
    case Kind::gpu_event: {
      const auto& r = view.as<GpuEventRecord>();
      add_activity<GpuEventRecord>(view, r.device_ns, r.device_ns, r.place);
      return true;
    }
    case Kind::overhead: {
      const auto& r = view.as<OverheadRecord>();
      add_activity<OverheadRecord>(view, r.begin_ns, r.end_ns, {kNone, 0, kNone, r.correlation});
      return true;
    }
    case Kind::gpu_memory: memory_activities_.push_back({view.as<GpuMemoryRecord>(), view.epoch}); return true;
    default: return false;
  }
}

bool GpuLoader::end(RecordRef begin, u64 ticks) {
  auto open = open_calls_.find(begin);
  if (open == open_calls_.end() || ticks < open->second.record.begin_ticks) return false;
  open->second.record.end_ticks = ticks;
  add_call(open->second.record, open->second.tid, false);
  open_calls_.erase(open);
  return true;
}

void GpuLoader::add_call(const CallRecord& r, u32 tid, bool unfinished) {
  CallEvent c;
  c.unfinished = unfinished;
  c.begin_ns = c.at_ns = of_ticks(r.begin_ticks);
  c.dur_ns = std::max<i64>((unfinished ? model_.end_ns : of_ticks(r.end_ticks)) - c.begin_ns, 0);
  c.address = r.address;
  c.bytes = r.bytes;
  c.stream = r.stream;
  c.name = names_(r.head.id);
  if (c.name == kLostName) model_.ledger.names_lost++;
  c.thread = threads_(tid);
  c.stack = stacks_(r.stack);
  c.result = r.result;
  c.family = r.family;
  c.call_flags = r.flags;
  c.device = r.device;
  c.detail = r.detail;
  c.seen = kSeenByUs;
  if (!unfinished) memory_.add_call(r, c);
  // All calls of the recording would need too much memory, since the span may be a hundredth of it.
  if (c.at_ns >= std::min(model_.begin_ns, warmup_ns_) - kNeighboursNs && c.at_ns < model_.end_ns + kNeighboursNs)
    calls_.add_ours(c);
}

void GpuLoader::add_api(const RecordView& view) {
  const auto& r = view.as<ApiRecord>();
  CallEvent c;
  if (!times_of(r.begin_ns, r.end_ns, c.begin_ns, c.dur_ns)) {
    model_.ledger.dropped["gpu_bad_time"]++;
    return;
  }
  c.at_ns = c.begin_ns;
  c.dur_ns = std::max<i64>(c.dur_ns, 0);
  c.name = names_(r.head.id);
  if (c.name == kLostName) model_.ledger.names_lost++;
  c.thread = threads_(r.tid);
  c.correlation = r.correlation;
  c.cbid = r.cbid & ~kApiDriver;
  if (r.cbid & kApiDriver) c.call_flags = kCallDriver;
  c.result = r.result;
  c.seen = kSeenByCupti;
  calls_.add_cupti(c, view.epoch);
}

// Returns false for stamps that no clock of this process can have produced.
bool GpuLoader::times_of(u64 begin_ns, u64 end_ns, i64& begin, i64& dur) const {
  i64 a = clock_.monotonic_of_wall(begin_ns), b = clock_.monotonic_of_wall(end_ns);
  if (!clock_.is_sane(a) || !clock_.is_sane(b)) return false;
  begin = a + offset_ns_;
  dur = b - a;
  return true;
}

template <class T>
void GpuLoader::add_activity(const RecordView& view, u64 begin_ns, u64 end_ns, const GpuPlace& place) {
  Activity w;
  w.epoch = view.epoch;
  T record = view.as<T>();
  record.head.words = sizeof(T) / 8;  // in later versions it may be longer
  w.event.record = reinterpret_cast<const RecordHead*>(model_.arena.copy(&record, sizeof record));
  w.event.device = place.device;
  w.event.context = place.context;
  w.event.stream = place.stream;
  w.event.correlation = place.correlation;
  if (!begin_ns || !end_ns)
    w.event.begin_ns = kLostTime;
  else if (!times_of(begin_ns, end_ns, w.event.begin_ns, w.event.dur_ns))
    w.event.begin_ns = kBadTime;
  activities_.push_back(w);
}

void GpuLoader::drop_duplicates() {
  model_.ledger.gpu.duplicates += drop_duplicates_of_epochs(activities_, [](const Activity& a, const Activity& b) {
    if (a.event.correlation != b.event.correlation) return a.event.correlation < b.event.correlation;
    if (a.event.begin_ns != b.event.begin_ns) return a.event.begin_ns < b.event.begin_ns;
    if (a.event.record->kind != b.event.record->kind) return a.event.record->kind < b.event.record->kind;
    return memcmp(a.event.record, b.event.record, size_t(a.event.record->words) * 8) < 0;
  });
}

void GpuLoader::finish() {
  for (const auto& [ref, open] : open_calls_) add_call(open.record, open.tid, true);
  for (const auto& [number, device] : meta_.devices)
    if (number < kDevices) model_.devices.emplace(number, device);
  drop_duplicates();
  std::vector<CallEvent> all = calls_.merge();

  // The index in the Model for each call that belongs to the span.
  std::vector<u32> index(all.size(), kNone);
  std::vector<std::pair<u32, u32>> launches;  // (correlation, call), in order of time
  u32 first = kNone, last = 0;                // correlations of the span's calls
  for (u32 i = 0; i < all.size(); i++) {
    CallEvent& c = all[i];
    if (c.correlation) launches.push_back({c.correlation, i});
    if (!in_span(c.at_ns)) continue;
    index[i] = u32(model_.calls.size());
    c.name = shown(c.name);
    model_.calls.push_back(c);
    if (!c.correlation) continue;
    first = std::min(first, c.correlation);
    last = std::max(last, c.correlation);
  }
  std::sort(launches.begin(), launches.end());

  for (Activity& w : activities_) {
    GpuEvent& e = w.event;
    if (e.kind() == Kind::gpu_event) event_records_.push_back(e);
    // The last call before it that has its correlation id, since correlations repeat after 2^32 calls.
    auto it = std::lower_bound(launches.begin(), launches.end(), std::pair(e.correlation, u32(0)));
    u32 call = kNone;
    for (; e.correlation && it != launches.end() && it->first == e.correlation; ++it)
      if (call == kNone || all[it->second].begin_ns - kSkewNs <= e.begin_ns) call = it->second;
    if (call != kNone) {
      e.call = index[call];
      if (e.call == kNone) {
        model_.ledger.gpu.other_window++;
        continue;
      }
    } else if (!belongs(w, first, last)) {
      continue;
    }
    if (keep(e)) model_.gpu.push_back(e);
  }
  activities_.clear();
  link_waits();
  if (derive_memory_) add_memory(all, launches);
  std::stable_sort(model_.gpu.begin(), model_.gpu.end(),
                   [](const GpuEvent& a, const GpuEvent& b) { return a.begin_ns < b.begin_ns; });
}

// Whether an activity without a known call belongs to the span. Its start decides, unless its correlation shows that it
// was launched before the first call of the span: correlations grow with time.
bool GpuLoader::belongs(const Activity& activity, u32 first, u32 last) {
  const GpuEvent& e = activity.event;
  if (e.begin_ns <= kBadTime) return first != kNone && e.correlation >= first && e.correlation <= last;
  if (!in_span(e.begin_ns)) return false;
  bool earlier = first != kNone && e.correlation && e.correlation < first && e.kind() != Kind::overhead;
  model_.ledger.gpu.other_window += earlier;
  return !earlier;
}

// Repairs and counts what is wrong with an activity of this span; returns false if it cannot be shown.
bool GpuLoader::keep(GpuEvent& e) {
  Ledger& ledger = model_.ledger;
  Kind kind = e.kind();
  // CUPTI before 12.8 does not report when the device reached an event: those records only resolve waits.
  if (kind == Kind::gpu_event && e.begin_ns == kLostTime) return false;
  if (e.begin_ns <= kBadTime) {
    ledger.dropped[e.begin_ns == kLostTime ? "gpu_no_time" : "gpu_bad_time"]++;
    return false;
  }
  if (!place_on_device(e)) {
    ledger.dropped["gpu_bad_device"]++;
    return false;
  }
  if (e.dur_ns < 0) {
    e.dur_ns = 0;
    ledger.gpu.negative++;
  }
  if (e.runs_on_gpu()) {
    if (e.call == kNone) ledger.gpu.without_call++;
    i64 early = e.call == kNone ? 0 : model_.calls[e.call].begin_ns - e.begin_ns;
    if (early > kSkewNs) ledger.gpu.before_launch++;
    if (early > 0 && early <= kSkewNs) {
      e.begin_ns += early;
      ledger.gpu.moved_to_launch++;
    }
    if (e.call != kNone) model_.calls[e.call].activities++;
  }
  if (kind == Kind::kernel) {
    u32 name = names_(e.record->id);
    if (name == kLostName) ledger.names_lost++;
    e.name = demangled(name);
  }
  return true;
}

bool GpuLoader::place_on_device(GpuEvent& e) {
  if (e.kind() == Kind::overhead) return true;
  bool by_context = e.kind() == Kind::sync || e.kind() == Kind::gpu_event;
  if (by_context && e.device == kNone) {
    auto context = meta_.contexts.find(e.context);
    if (context != meta_.contexts.end())
      e.device = context->second.device;
    else if (model_.devices.size() == 1)
      e.device = model_.devices.begin()->first;
  }
  return e.device < kDevices;
}

void GpuLoader::add_memory(const std::vector<CallEvent>& calls, const std::vector<std::pair<u32, u32>>& launches) {
  model_.ledger.gpu.duplicates +=
      drop_duplicates_of_epochs(memory_activities_, [](const MemoryActivity& a, const MemoryActivity& b) {
        return memcmp(&a.record.head.id, &b.record.head.id, sizeof a.record - offsetof(RecordHead, id)) < 0;
      });
  for (const MemoryActivity& memory : memory_activities_) {
    i64 ns, dur;
    if (!times_of(memory.record.ns, memory.record.ns, ns, dur)) continue;
    u32 correlation = memory.record.place.correlation;
    auto it = std::lower_bound(launches.begin(), launches.end(), std::pair(correlation, u32(0)));
    bool known = correlation && it != launches.end() && it->first == correlation;
    memory_.add_record(memory.record, ns, known ? calls[it->second].thread : threads_(model_.pid));
  }
  memory_.finish(model_);
}

// Links a wait for an event to the cudaEventRecord that it waits for: the one with CUPTI's number of it, or else the
// last one of that event before.
void GpuLoader::link_waits() {
  std::unordered_map<u32, const GpuEvent*> by_number;
  std::unordered_map<u32, std::vector<const GpuEvent*>> by_event;
  std::sort(event_records_.begin(), event_records_.end(),
            [](const GpuEvent& a, const GpuEvent& b) { return a.correlation < b.correlation; });
  for (const GpuEvent& mark : event_records_) {
    const auto& r = mark.as<GpuEventRecord>();
    if (r.event_sync) by_number[r.event_sync] = &mark;
    by_event[r.head.id].push_back(&mark);
  }
  for (GpuEvent& e : model_.gpu) {
    if (e.kind() != Kind::sync) continue;
    const auto& r = e.as<SyncRecord>();
    const GpuEvent* mark = nullptr;
    if (auto it = by_number.find(r.event_sync); r.event_sync && it != by_number.end()) {
      mark = it->second;
    } else if (auto all = by_event.find(r.event); r.event && all != by_event.end()) {
      auto after = std::lower_bound(all->second.begin(), all->second.end(), e.correlation,
                                    [](const GpuEvent* one, u32 value) { return one->correlation < value; });
      if (after != all->second.begin()) mark = after[-1];
    }
    if (!mark) continue;
    e.wait_stream = mark->stream;
    e.wait_correlation = mark->correlation;
  }
}

u32 GpuLoader::renamed(u32 name, std::unordered_map<u32, u32>& known, std::string (*change)(const std::string&)) {
  auto [it, added] = known.emplace(name, name);
  if (!added) return it->second;
  std::string text = change(model_.names[name]);
  if (text != model_.names[name]) {
    it->second = u32(model_.names.size());
    model_.names.push_back(std::move(text));
  }
  return it->second;
}

u32 GpuLoader::demangled(u32 name) { return renamed(name, demangled_, tprof::demangled); }

u32 GpuLoader::shown(u32 name) { return renamed(name, shown_, shown_function); }

}  // namespace tprof
