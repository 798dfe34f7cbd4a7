#include "model/gpu/load.h"

#include <algorithm>
#include <cstring>

#include "symbols/demangle.h"

namespace tprof {
namespace {

constexpr u32 kDevices = 64;               // readers take no device beyond
constexpr i64 kSkewNs = 1'000'000;         // by so much CUPTI's GPU times may be early
constexpr i64 kNeighboursNs = 10'000'000;  // calls so near to the span are merged with CUPTI's as those inside are
constexpr i64 kLostTime = INT64_MIN, kBadTime = INT64_MIN + 1;  // in place of a begin

}  // namespace

bool GpuLoader::in_span(i64 ns) {
  if (ns >= model_.begin_ns) return ns < model_.end_ns;
  if (ns >= warmup_ns_) model_.ledger.discarded_warmup++;
  return false;
}

bool GpuLoader::add(const RecordView& view) {
  switch (view.kind()) {
    case Kind::call:
      if (view.as<CallRecord>().family == u8(CallFamily::nccl)) return false;
      if (view.as<CallRecord>().end_ticks)
        add_call(view.as<CallRecord>(), view.tid, false);
      else
        open_calls_[view.ref] = {view.as<CallRecord>(), view.tid};
      return true;
    case Kind::api: add_api(view); return true;
#define WORK(kind, type)                                                                           \
  case Kind::kind:                                                                                 \
    add_work<type>(view, view.as<type>().begin_ns, view.as<type>().end_ns, view.as<type>().place); \
    return true;
      WORK(kernel, KernelRecord)
      WORK(copy, CopyRecord)
      WORK(set, SetRecord)
      WORK(sync, SyncRecord)
      WORK(graph, GraphRecord)
#undef WORK
    case Kind::gpu_event: {
      const auto& r = view.as<GpuEventRecord>();
      add_work<GpuEventRecord>(view, r.device_ns, r.device_ns, r.place);
      return true;
    }
    case Kind::overhead: {
      const auto& r = view.as<OverheadRecord>();
      add_work<OverheadRecord>(view, r.begin_ns, r.end_ns, {kNone, 0, kNone, r.correlation});
      return true;
    }
    case Kind::gpu_memory: memory_works_.push_back({view.as<GpuMemoryRecord>(), view.epoch}); return true;
    default: return false;
  }
}

bool GpuLoader::end(RecordRef begin, u64 ticks) {
  auto open = open_calls_.find(begin);
  if (open == open_calls_.end()) return false;
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
  // The others would fill the memory: a part of a recording may be a hundredth of it.
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

// False for stamps that no clock of this process can have given.
bool GpuLoader::times_of(u64 begin_ns, u64 end_ns, i64& begin, i64& dur) const {
  i64 a = clock_.monotonic_of_wall(begin_ns), b = clock_.monotonic_of_wall(end_ns);
  if (!clock_.is_sane(a) || !clock_.is_sane(b)) return false;
  begin = a + offset_ns_;
  dur = b - a;
  return true;
}

template <class T>
void GpuLoader::add_work(const RecordView& view, u64 begin_ns, u64 end_ns, const GpuPlace& place) {
  Work w;
  w.epoch = view.epoch;
  T record = view.as<T>();
  record.head.words = sizeof(T) / 8;  // a later version's may be longer
  w.event.record = reinterpret_cast<const RecordHead*>(model_.arena.copy(&record, sizeof record));
  w.event.device = place.device;
  w.event.context = place.context;
  w.event.stream = place.stream;
  w.event.correlation = place.correlation;
  if (!begin_ns || !end_ns)
    w.event.begin_ns = kLostTime;
  else if (!times_of(begin_ns, end_ns, w.event.begin_ns, w.event.dur_ns))
    w.event.begin_ns = kBadTime;
  works_.push_back(w);
}

void GpuLoader::drop_duplicates() {
  model_.ledger.gpu.duplicates += drop_met_again(works_, [](const Work& a, const Work& b) {
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

  // Which calls belong to the span, and where they will stand in the Model.
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

  for (Work& w : works_) {
    GpuEvent& e = w.event;
    if (e.kind() == Kind::gpu_event) marks_.push_back(e);
    // The call with its correlation that began last before it: correlations come again after 2^32 calls.
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
  works_.clear();
  link_waits();
  if (derive_memory_) add_memory(all, launches);
  std::stable_sort(model_.gpu.begin(), model_.gpu.end(),
                   [](const GpuEvent& a, const GpuEvent& b) { return a.begin_ns < b.begin_ns; });
}

// Work of which no call is known: by the time at which it began. Its correlation can tell that it was launched before
// the span's first call, since correlations grow with time.
bool GpuLoader::belongs(const Work& work, u32 first, u32 last) {
  const GpuEvent& e = work.event;
  if (e.begin_ns <= kBadTime) return first != kNone && e.correlation >= first && e.correlation <= last;
  if (!in_span(e.begin_ns)) return false;
  bool earlier = first != kNone && e.correlation && e.correlation < first && e.kind() != Kind::overhead;
  model_.ledger.gpu.other_window += earlier;
  return !earlier;
}

// Repairs and counts what is wrong with work of this span; false: it cannot be shown.
bool GpuLoader::keep(GpuEvent& e) {
  Ledger& ledger = model_.ledger;
  Kind kind = e.kind();
  // CUPTI before 12.8 does not know when the device reached an event: those records only tell what a wait is for.
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
    if (e.call != kNone) model_.calls[e.call].works++;
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
  model_.ledger.gpu.duplicates += drop_met_again(memory_works_, [](const MemoryWork& a, const MemoryWork& b) {
    return memcmp(&a.record.head.id, &b.record.head.id, sizeof a.record - offsetof(RecordHead, id)) < 0;
  });
  for (const MemoryWork& met : memory_works_) {
    i64 ns, dur;
    if (!times_of(met.record.ns, met.record.ns, ns, dur)) continue;
    u32 correlation = met.record.place.correlation;
    auto it = std::lower_bound(launches.begin(), launches.end(), std::pair(correlation, u32(0)));
    bool known = correlation && it != launches.end() && it->first == correlation;
    memory_.add_record(met.record, ns, known ? calls[it->second].thread : threads_(model_.pid));
  }
  memory_.finish(model_);
}

// What a wait for an event waits for: the recording of that event, by CUPTI's number of it or else the last before.
void GpuLoader::link_waits() {
  std::unordered_map<u32, const GpuEvent*> by_number;
  std::unordered_map<u32, std::vector<const GpuEvent*>> by_event;
  std::sort(marks_.begin(), marks_.end(),
            [](const GpuEvent& a, const GpuEvent& b) { return a.correlation < b.correlation; });
  for (const GpuEvent& mark : marks_) {
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
