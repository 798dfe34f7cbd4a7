// The meta stream of a recording: its records, copied into a Meta.
#include <stdio.h>
#include <string.h>

#include <algorithm>

#include "record/reader.h"

namespace tprof {
namespace {

// The two NUL-terminated strings that follow a record of type T.
template <class T>
bool two_strings(const RecordView& view, std::string& first, std::string& second) {
  const char* text = reinterpret_cast<const char*>(&view.as<T>() + 1);
  const char* end = reinterpret_cast<const char*>(view.record) + view.bytes();
  const char* a = static_cast<const char*>(memchr(text, 0, end - text));
  if (!a) return false;
  const char* b = static_cast<const char*>(memchr(a + 1, 0, end - a - 1));
  if (!b) return false;
  first.assign(text, a);
  second.assign(a + 1, b);
  return true;
}

// Steps that were counted before and have the new step's number or a higher one are void.
void restart_steps(const RestartRecord& r, Meta& meta) {
  bool training = static_cast<RestartWhy>(r.head.id) == RestartWhy::training;
  if (training) meta.training_ticks = r.ticks;
  for (StepInfo& step : meta.steps) {
    if (step.number >= r.number && training)
      step.flags |= kStepBefore;
    else if (step.number >= r.number)
      step.flags = (step.flags & ~u32(kStepHasWork)) | kStepWithdrawn;  // its work is another step's
    else if (step.number == r.number - 1)
      step.end_ticks = r.ticks;
  }
}

void sort_meta(Meta& meta) {
  // Damaged or unordered triples would distort times, so only a strictly increasing sequence is kept.
  std::sort(meta.clocks.begin(), meta.clocks.end(), [](auto& x, auto& y) { return x.ticks < y.ticks; });
  std::vector<ClockTriple> good;
  for (const ClockTriple& c : meta.clocks)
    if (good.empty() || (c.ticks > good.back().ticks && c.monotonic_ns > good.back().monotonic_ns)) good.push_back(c);
  meta.clocks = std::move(good);
  std::stable_sort(meta.images.begin(), meta.images.end(), [](auto& x, auto& y) { return x.ticks < y.ticks; });
  std::stable_sort(meta.steps.begin(), meta.steps.end(), [](auto& x, auto& y) { return x.number < y.number; });
  std::stable_sort(meta.stretches.begin(), meta.stretches.end(),
                   [](auto& x, auto& y) { return x.begin_ticks < y.begin_ticks; });
  std::sort(meta.stretch_parts.begin(), meta.stretch_parts.end());
  std::stable_sort(meta.groups.begin(), meta.groups.end(),
                   [](const GroupRecord& a, const GroupRecord& b) { return a.ticks < b.ticks; });
  std::stable_sort(meta.windows.begin(), meta.windows.end(), [](auto& x, auto& y) { return x.number < y.number; });
}

// False: the record is damaged.
bool add_meta(const RecordView& view, Meta& meta) {
  switch (view.kind()) {
    case Kind::name: {
      const auto& r = view.as<NameRecord>();
      if (sizeof r + r.bytes > view.bytes()) return false;
      meta.names[r.head.id].assign(reinterpret_cast<const char*>(&r + 1), r.bytes);
      break;
    }
    case Kind::thread: {
      const auto& r = view.as<ThreadRecord>();
      size_t max_bytes = view.bytes() - offsetof(ThreadRecord, name);
      meta.threads[r.head.id] = {r.head.id, r.torch_thread, r.begin_ticks,
                                 std::string(r.name, strnlen(r.name, max_bytes))};
      break;
    }
    case Kind::clock: {
      const auto& r = view.as<ClockRecord>();
      if (r.realtime_ns > kLastMoment_ns || r.monotonic_ns > kLastMoment_ns) return false;
      meta.clocks.push_back({r.ticks, r.realtime_ns, r.monotonic_ns});
      break;
    }
    case Kind::step: {
      StepRecord r = step_of(view);
      if (!are_steps(r.number)) return false;
      meta.steps.push_back({r.number, static_cast<StepBy>(r.head.id), r.begin_ticks, r.end_ticks, r.flags, r.tid,
                            r.work_ticks, r.loop_end_ticks, r.updates});
      break;
    }
    case Kind::stretch: {
      const auto& r = view.as<StretchRecord>();
      if (!are_steps(r.number) || !r.head.id || r.head.id > kStretchKinds) return false;
      meta.stretches.push_back({static_cast<StretchKind>(r.head.id), r.number, r.begin_ticks, r.end_ticks, r.batches,
                                r.calls, r.left_out, r.flags, r.tid});
      break;
    }
    case Kind::stretch_part: meta.stretch_parts.push_back(view.as<StretchPartRecord>().ticks); break;
    case Kind::restart:
      if (!are_steps(view.as<RestartRecord>().number)) return false;
      restart_steps(view.as<RestartRecord>(), meta);
      break;
    case Kind::window: {
      const auto& r = view.as<WindowRecord>();
      if (!are_steps(r.first_step, r.end_step)) return false;
      meta.windows.push_back({r.head.id, static_cast<WindowState>(r.state.load()), r.tid, r.first_step, r.end_step,
                              r.warmup_ticks, r.begin_ticks, r.end_ticks});
      break;
    }
    case Kind::capability: {
      std::string name, why;
      if (!two_strings<CapabilityRecord>(view, name, why)) return false;
      meta.capabilities[name] = {name, view.record->id == 1, why};
      break;
    }
    case Kind::info: {
      std::string key, value;
      if (!two_strings<InfoRecord>(view, key, value)) return false;
      meta.info[key] = value;
      break;
    }
    case Kind::group: meta.groups.push_back(view.as<GroupRecord>()); break;
    case Kind::trigger: {
      const auto& r = view.as<TriggerRecord>();
      if (!are_steps(r.first_step, r.ended_step)) return false;
      meta.triggers.push_back(r);
      break;
    }
    case Kind::flush: meta.flushes.push_back(view.as<FlushRecord>().ticks); break;
    case Kind::device: {
      DeviceRecord r = view.as<DeviceRecord>();
      r.name[sizeof r.name - 1] = 0;
      meta.devices[r.head.id] = r;
      break;
    }
    case Kind::context: meta.contexts[view.record->id] = view.as<ContextRecord>(); break;
    case Kind::code: {
      const auto& r = view.as<CodeRecord>();
      if (sizeof r + r.table_bytes > view.bytes()) return false;
      const char* table = reinterpret_cast<const char*>(&r + 1);
      meta.codes[r.head.id] = {r.name, r.file, r.first_line, r.python, std::string(table, r.table_bytes)};
      break;
    }
    case Kind::stack: meta.stacks[view.record->id] = view.as<StackRecord>(); break;
    case Kind::module: meta.modules[view.record->id] = view.as<ModuleRecord>(); break;
    case Kind::image: {
      ImageRecord r = view.as<ImageRecord>();
      if (r.build_id_bytes > sizeof r.build_id) r.build_id_bytes = 0;
      meta.images.push_back(r);
      break;
    }
    default: return false;  // a data record in a meta chunk
  }
  return true;
}

}  // namespace

StepRecord step_of(const RecordView& view) {
  StepRecord out{};
  memcpy(static_cast<void*>(&out), view.record, std::min(view.bytes(), sizeof out));
  return out;
}

std::string trigger_text(const TriggerRecord& trigger) {
  std::string out = "a trigger that this version does not know";
  switch (static_cast<TriggerWhy>(trigger.why)) {
#define TRIGGER(number, name, text) \
  case TriggerWhy::name: out = text; break;
    TPROF_TRIGGERS(TRIGGER)
#undef TRIGGER
  }
  char detail[96] = {};
  if (trigger.why == u32(TriggerWhy::slow_step))
    snprintf(detail, sizeof detail, ": step %llu took %.2f times the median",
             static_cast<unsigned long long>(trigger.detail[0]), double(trigger.detail[1]) / 1000);
  if (trigger.why == u32(TriggerWhy::out_of_memory))
    snprintf(detail, sizeof detail, ": %llu bytes on %s", static_cast<unsigned long long>(trigger.detail[0]),
             trigger.detail[1] ? "a GPU" : "the host");
  if (trigger.why == u32(TriggerWhy::rank))
    snprintf(detail, sizeof detail, ": rank %llu, for step %llu%s", static_cast<unsigned long long>(trigger.detail[0]),
             static_cast<unsigned long long>(trigger.detail[1] & ~kStepWasPast),
             trigger.detail[1] & kStepWasPast ? ", which this rank was past" : "");
  if (trigger.why == u32(TriggerWhy::hang))
    snprintf(detail, sizeof detail, ": %s for %llu s", trigger.detail[1] ? "a collective" : "no step and no operator",
             static_cast<unsigned long long>(trigger.detail[0]));
  return out + detail;
}

Meta Recording::read_meta() {
  Meta meta;
  u32 count = chunk_count();
  std::vector<std::pair<u64, u32>> used;  // when, index
  for (u32 i = 0; i < count; i++) {
    ChunkHeader chunk;
    if (read_chunk_header(i, chunk) && chunk.stream != u32(Stream::data)) used.push_back({chunk.first_ticks, i});
  }
  std::sort(used.begin(), used.end());
  for (auto [ticks, i] : used)
    for_each_record(i, [&](const RecordView& view) {
      if (!add_meta(view, meta)) damage_.bad_records++;
    });
  sort_meta(meta);
  return meta;
}

}  // namespace tprof
