#include "live/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "analysis/basis/name_classes.h"
#include "analysis/tables/operators.h"
#include "base/error.h"
#include "base/process.h"
#include "live/schedule.h"
#include "model/job.h"
#include "model/trace.h"

namespace tprof::live {
namespace {

constexpr i64 kRecent_ns = i64(RecentSums<u32>::kSlots) * i64(kSecond_ns);
// CUPTI delivers the work of a GPU up to a second late, so steps are judged later where there is a GPU.
constexpr i64 kGpuLate_ns = 2 * i64(kSecond_ns);
constexpr size_t kMostAsync = 1024, kMostWindows = 8;
constexpr u64 kLeastTime_ns = 400'000'000;  // over which processor time is measured, as it is counted in 10 ms
constexpr u32 kNoEpoch = 0xffffffff;        // nothing is recorded

// Of the last seconds, in ticks.
u64 begin_of(const HostTime& time) {
  u64 recent = time.ticks_of(kRecent_ns);
  return time.now() > recent ? time.now() - recent : 0;
}

}  // namespace

Program::Program(const std::string& path, ProcessesHere& processes)
    : recording_(Recording::open(path)),
      process_(processes.writer_of(header())),
      time_(header(), process_.same_machine),
      chunks_(*recording_, [this] { return begin_of(time_); }),
      names_(*recording_) {}

bool Program::runs() const {
  if (header().closed.load()) return false;
  if (!process_.pid) return !process_.same_machine;
  return process_identity(process_.pid).start_time == header().process_start;
}

// --- the meta stream

void Program::add_name(const RecordView& view) {
  names_.add(view);
  std::string_view text = NameTexts::text_of(view);
  u32 id = view.record->id;
  if (is_in_class(text, NameClass::data_loading)) loading_.insert(id);
  if (is_in_class(text, NameClass::communication_op)) communicating_.insert(id);
  if (is_in_class(text, NameClass::communication_kernel) && !is_in_class(text, NameClass::local_kernel))
    communication_kernels_.insert(id);
  if (text.starts_with(kStepPrefix)) step_marks_.insert(id);
}

void Program::add_info(const RecordView& view) {
  const char* key = reinterpret_cast<const char*>(view.record + 1);
  size_t room = view.bytes() - sizeof(RecordHead), length = strnlen(key, room);
  if (length < room)
    info_[std::string(key, length)].assign(key + length + 1, strnlen(key + length + 1, room - length - 1));
}

// Their records are patched as long as the windows are recorded.
void Program::read_windows() {
  while (windows_.size() > kMostWindows) windows_.pop_front();
  for (Window& w : windows_) {
    WindowRecord r{};
    if (!recording_->read_again(w.ref, 0, &r, sizeof r) || r.head.kind != u16(Kind::window) ||
        !are_steps(r.first_step, r.end_step))
      continue;
    w.first_step = r.first_step;
    w.end_step = r.end_step;
    bool discarded = r.state.load() == u32(WindowState::discarded);
    w.warmup = discarded ? 0 : r.warmup_ticks;
    w.begin = r.begin_ticks;
  }
}

bool Program::is_warmup(u64 ticks) const {
  return std::any_of(windows_.begin(), windows_.end(),
                     [=](const Window& w) { return w.warmup && ticks >= w.warmup && (!w.begin || ticks < w.begin); });
}

void Program::add_meta(const RecordView& view) {
  switch (view.kind()) {
    case Kind::name: add_name(view); break;
    case Kind::info: add_info(view); break;
    case Kind::step:
      if (are_steps(step_of(view).number)) steps_.add(view);
      break;
    case Kind::restart:
      steps_.restart();
      breakdown_.forget_from(view.as<RestartRecord>().number);
      break;
    case Kind::window: windows_.push_back({view.ref, i64(view.record->id)}); break;
    case Kind::clock: {
      const auto& r = view.as<ClockRecord>();
      time_.add({r.ticks, r.realtime_ns, r.monotonic_ns});
      break;
    }
    default: break;
  }
}

// --- data

u64 Program::end_of(RecordRef ref) const {
  u64 end = 0;
  return recording_->read_again(ref, offsetof(RangeRecord, end_ticks), &end, sizeof end) ? end : 0;
}

ThreadNest& Program::nest_of(u32 tid) {
  auto known = nests_.find(tid);
  if (known != nests_.end()) return known->second;
  return nests_
      .try_emplace(
          tid, [this](const EndedRange& range) { tell(range); }, [this](RecordRef ref) { return end_of(ref); })
      .first->second;
}

// Time in which a range was open, for the breakdown.
void Program::cover(u32 name, u64 begin, u64 end) {
  bool communicates = !gpu_communicates_ && communicating_.count(name);
  Category category = loading_.count(name) ? Category::data_loading
                      : communicates       ? Category::communication
                                           : Category::cpu;
  breakdown_.add(category, begin, end);
}

void Program::tell(const EndedRange& r) {
  if (!second_) second_ = time_.ticks_of(i64(kSecond_ns));
  operators_.add(second_, r.end, r.name, {r.self, r.total, 1});
  bool special = loading_.count(r.name) || communicating_.count(r.name);
  if (r.outermost || special) cover(r.name, r.begin, r.end);
}

void Program::add_async_end(RecordRef ref, u64 end) {
  auto range = async_.find(ref);
  if (range == async_.end()) return;
  u64 total = end - std::min(range->second.begin, end);
  tell({range->second.name, range->second.begin, end, total, total, true});
  async_.erase(range);
}

void Program::add_range(const RecordView& view) {
  const auto& r = view.as<RangeRecord>();
  if (step_marks_.count(r.head.id)) return;  // everything lies in them: what is outermost, lies in no other range
  if (!(r.flags & kRangeAsync)) {
    nest_of(view.tid).add(view.ref, r.head.id, r.begin_ticks, r.end_ticks, view.epoch, recording_->reads());
    return;
  }
  if (async_.size() >= kMostAsync) async_.erase(async_.begin());
  async_[view.ref] = {r.head.id, r.begin_ticks};
  if (r.end_ticks) add_async_end(view.ref, r.end_ticks);
}

void Program::add_gpu(Category category, u64 begin_ns, u64 end_ns) {
  if (!begin_ns || end_ns <= begin_ns) return;
  gpu_ = true;
  gpu_communicates_ |= category == Category::communication;
  breakdown_.add(category, time_.ticks_at_wall(begin_ns), time_.ticks_at_wall(end_ns));
}

void Program::add_memory(const MemoryRecord& r) {
  u8 type = u8(r.head.id), index = u8(r.head.id >> 8), flags = u8(r.head.id >> 16);
  if (flags & (kMemoryShared | kMemoryOutOfMemory)) return;
  MemoryView& device = memory_[u32(type) << 8 | index];
  if (device.device.empty()) device.device = device_text({type, i8(index)});
  device.allocated = i64(r.total_allocated);
  device.reserved = i64(r.total_reserved);
  device.peak = std::max(device.peak, device.allocated);
}

void Program::add_data(const RecordView& view) {
  newest_epoch_ = std::max(newest_epoch_, i64(view.epoch));
  switch (view.kind()) {
    case Kind::range: add_range(view); break;
    case Kind::range_end: {
      const auto& r = view.as<RangeEndRecord>();
      add_async_end(r.begin, r.end_ticks);
      for (auto& [tid, nest] : nests_) nest.end(r.begin, r.end_ticks);
      break;
    }
    case Kind::call: {
      const auto& r = view.as<CallRecord>();
      if (r.end_ticks && CallFamily(r.family) != CallFamily::nccl)
        breakdown_.add(Category::runtime, r.begin_ticks, r.end_ticks);
      break;
    }
    case Kind::kernel: {
      const auto& r = view.as<KernelRecord>();
      add_gpu(communication_kernels_.count(r.head.id) ? Category::communication : Category::kernel, r.begin_ns,
              r.end_ns);
      break;
    }
    case Kind::copy: add_gpu(Category::copy, view.as<CopyRecord>().begin_ns, view.as<CopyRecord>().end_ns); break;
    case Kind::set: add_gpu(Category::set, view.as<SetRecord>().begin_ns, view.as<SetRecord>().end_ns); break;
    case Kind::memory: add_memory(view.as<MemoryRecord>()); break;
    case Kind::loader: work_.add(view.as<LoaderRecord>(), time_); break;
    default: break;
  }
}

// --- a look

void Program::finish_steps(u64 until) {
  if (gpu_) until -= std::min(until, time_.ticks_of(kGpuLate_ns));
  std::vector<StepParts> steps = steps_.settled(until, [this](RecordRef ref, StepRecord& r) {
    StepRecord now{};
    if (recording_->read_again(ref, 0, &now, kOldStepBytes) && now.head.kind == u16(Kind::step) &&
        are_steps(now.number))
      r = now;
  });
  std::erase_if(steps, [this](const StepParts& s) { return s.begin < whole_since_ || is_warmup(s.begin); });
  breakdown_.finish(steps);
}

Program::State Program::state() const {
  const FileHeader& h = header();
  return {h.phase.load(), h.epoch.load(), h.closed.load()};
}

bool Program::has_changed() {
  if (ended()) return false;
  try {
    recording_->refresh();
  } catch (const Error&) {
    return true;
  }
  return !(state() == seen_);
}

// Chunks of an epoch whose trace is written, or which flight mode no longer keeps, may be gone. What was read of an
// epoch is whole if a look that began after its end was over before that: `whole_epoch` is the last one that had ended
// when this look began.
void Program::find_losses(i64 whole_epoch) {
  try {
    recording_->refresh();
  } catch (const Error&) {  // the next look says so
    return;
  }
  bool waited = seen_.phase != u32(Phase::warmup) && seen_.phase != u32(Phase::active) && state() == seen_;
  if (waited) whole_epoch = newest_epoch_;
  i64 given_back = i64(std::min<u64>(header().given_back.load(), kNoEpoch)) - 1;
  i64 dropped = i64(header().kept_epoch.load()) - 1;
  if (first_look_) {
    whole_since_ = std::max(chunks_.left_out_before(), std::max(given_back, dropped) >= 0 ? begin_of(time_) : 0);
  } else if (std::max(given_back, dropped) > whole_epoch_) {
    (given_back > whole_epoch_ ? lost_windows_ : overtaken_)++;
    whole_since_ = time_.now();
  }
  first_look_ = false;
  whole_epoch_ = std::max({whole_epoch_, whole_epoch, given_back, dropped});
}

void Program::look_at_process() {
  u64 now = clock_ns(CLOCK_MONOTONIC);
  if (!process_.pid || now - cpu_at_ns_ < kLeastTime_ns) return;
  std::string proc = "/proc/" + std::to_string(process_.pid);
  char text[1024];
  long long pages = 0, size = 0;
  if (read_small_file((proc + "/statm").c_str(), text, sizeof text) > 0 &&
      sscanf(text, "%lld %lld", &size, &pages) == 2)
    rss_ = i64(pages) * sysconf(_SC_PAGESIZE);
  unsigned long long user = 0, system = 0;
  const char* after = nullptr;
  if (read_small_file((proc + "/stat").c_str(), text, sizeof text) > 0) after = strrchr(text, ')');
  if (!after || sscanf(after + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system) != 2)
    return;
  u64 ns = (user + system) * (kSecond_ns / u64(sysconf(_SC_CLK_TCK)));
  if (cpu_at_ns_) cpu_ = double(ns - std::min(ns, cpu_ns_)) / double(now - cpu_at_ns_);
  cpu_ns_ = ns;
  cpu_at_ns_ = now;
}

void Program::look() {
  if (ended()) return;
  bool ran = runs(), gone = recording_->is_gone();
  std::string why;
  try {
    read_new();
    if (header().closed.load() || !ran) why = "the program has ended";
    if (gone && why.empty()) why = "its recording was deleted or replaced";
    if (!why.empty()) read_new();  // a range is told, and a step summed up, by the look after its end
  } catch (const Error&) {
    why = "its recording was cut off or overwritten";
  }
  if (why.empty()) {
    look_at_process();
  } else {
    rss_ = -1;
    cpu_ = -1;
  }
  why_ended_ = why;
}

void Program::read_new() {
  recording_->refresh();
  time_.tick();
  u64 before = settled_, begin = time_.now();
  seen_ = state();
  bool recorded = seen_.phase == u32(Phase::warmup) || seen_.phase == u32(Phase::active);
  u32 epoch = recorded ? seen_.epoch : kNoEpoch;
  i64 whole_epoch = recorded ? i64(epoch) - 1 : newest_epoch_;
  chunks_.look([this](const RecordView& view) { add_meta(view); }, [this](const RecordView& view) { add_data(view); });
  find_losses(whole_epoch);
  for (auto it = nests_.begin(); it != nests_.end();) {
    it->second.look_is_over(epoch);
    it->second.tell_open(begin, [this](const EndedRange& r) { cover(r.name, r.begin, r.end); });
    it = it->second.empty() ? nests_.erase(it) : std::next(it);
  }
  for (auto it = async_.begin(); it != async_.end();) {
    auto [ref, range] = *it++;
    if (u64 end = end_of(ref)) add_async_end(ref, end);
  }
  read_windows();
  finish_steps(before);
  settled_ = begin;
  const StepNow& step = header().step;
  if (u64 ticks = step.begin_ticks; ticks && are_steps(step.number.load(), step.first_number.load()))
    now_.see(time_.at(time_.now()), step.number, time_.at(ticks), step.first_number, time_.at(step.first_ticks));
  u64 recent_ns = time_.now_ns() - std::min(time_.now_ns(), u64(kRecent_ns));
  if (!samples_ && !is_helper()) samples_ = LineSamples::open(*recording_, recent_ns);
  if (samples_) samples_->look();
}

// --- the view

std::string Program::phase_text() const {
  Schedule schedule;
  WindowSource source;
  OptionError ignored;
  auto option = [&](const char* name) {
    auto known = info_.find(std::string("option.") + name);
    return known == info_.end() ? "" : known->second.c_str();
  };
  if (*option("schedule")) parse_schedule(option("schedule"), schedule, ignored);
  if (*option("steps") && !schedule.given) parse_steps(option("steps"), schedule, ignored);
  if (*option("window")) parse_window(option("window"), source, ignored);
  PhaseNow now;
  now.phase = static_cast<Phase>(header().phase.load());
  now.step = now_.number();
  now.rate = now_.recent() > 0 ? now_.recent() : now_.mean();
  if (!windows_.empty()) {
    now.windows = windows_.back().number + 1;
    now.first_step = windows_.back().first_step;
    now.end_step = windows_.back().end_step;
  }
  now.autostart = strcmp(option("autostart"), "0") != 0;
  return live::phase_text(schedule, source, now);
}

ProgramView Program::view(size_t most_operators, size_t most_lines) {
  const FileHeader& h = header();
  ProgramView v;
  v.pid = h.pid;
  v.host = h.host;
  v.recording = path();
  if (auto command = info_.find("command"); command != info_.end()) v.command = command->second;
  Meta place;
  place.info = info_;
  JobPlace job = place_of(h, place);
  v.rank = job.rank;
  v.world_size = job.world_size;
  v.ended = ended();
  v.why_ended = why_ended_;
  v.phase = static_cast<Phase>(h.phase.load());
  v.phase_text = phase_text();
  v.step = now_.number();
  v.step_running_ns = now_.running();
  v.rate = now_.recent();
  v.mean_rate = now_.mean();
  MeanStep mean = breakdown_.mean(time_.ticks_of(kRecent_ns));
  v.recent = {mean.steps, mean.first, mean.last, 0, mean.ticks * time_.ns_per_tick(), {}, {}};
  if (mean.steps) v.recent.age_ns = time_.ns(time_.now() - std::min(time_.now(), mean.end));
  for (u32 c = 0; c < kCategories; c++) {
    v.recent.by[c] = mean.by[c] * time_.ns_per_tick();
    v.recent.shown[c] = c == u32(Category::other) || breakdown_.has_seen(static_cast<Category>(c));
  }
  if (mean.steps) v.own_ns = v.recent.ns - v.recent.by[u32(Category::communication)];
  v.overflowed = breakdown_.overflowed();
  v.lost_windows = lost_windows_;
  v.overtaken = overtaken_;
  std::vector<std::pair<u32, Sum>> operators;
  u64 self = 0;
  for (const auto& [name, sum] : operators_.sums()) {
    self += sum.self;
    operators.emplace_back(name, sum);
  }
  v.operators_self_ns = time_.ns(self);
  // Those that may be among the first by any of the orders.
  std::set<u32> chosen;
  for (u64 Sum::*by : {&Sum::self, &Sum::total, &Sum::calls}) {
    size_t most = std::min(most_operators, operators.size());
    std::partial_sort(operators.begin(), operators.begin() + i64(most), operators.end(),
                      [by](const auto& a, const auto& b) {
                        return a.second.*by != b.second.*by ? a.second.*by > b.second.*by : a.first < b.first;
                      });
    for (size_t i = 0; i < most; i++) chosen.insert(operators[i].first);
  }
  for (const auto& [name, sum] : operators)
    if (chosen.count(name)) v.operators.push_back({names_(name), time_.ns(sum.self), time_.ns(sum.total), sum.calls});
  if (samples_) {
    v.lines = samples_->lines(most_lines);
    v.samples = samples_->samples();
    v.why_no_lines = samples_->why_not();
  }
  for (const auto& [device, memory] : memory_) v.memory.push_back(memory);
  v.rss = rss_;
  v.cpu = cpu_;
  for (u32 reason = 0; reason < u32(Drop::count); reason++) v.dropped += h.dropped[reason].load();
  if (u32 stopped = h.stopped.load(); stopped && stopped <= u32(Drop::count)) v.stopped = kDropNames[stopped - 1];
  return v;
}

}  // namespace tprof::live
