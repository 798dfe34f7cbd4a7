#include "model/recent.h"

#include <algorithm>
#include <map>

#include "model/build.h"
#include "model/collectives.h"
#include "model/communication.h"
#include "model/job.h"
#include "model/nccl.h"
#include "model/passes.h"
#include "model/settled.h"
#include "model/tables.h"

namespace tprof {
namespace {

// Bounds the time of a look: 64 MB are read and searched in less than 0.2 s.
constexpr size_t kMostChunks = 128;
constexpr u64 kNever = ~u64(0);

class RecentReader {
 public:
  RecentReader(Recording& recording, const Meta& meta)
      : recording_(recording),
        meta_(meta),
        clock_(clock_of(recording, meta)),
        names_(meta, model_),
        threads_(meta, model_),
        now_ns_(i64(clock_ns(CLOCK_REALTIME))) {}

  Recent run() {
    auto phase = static_cast<Phase>(recording_.header().phase.load());
    out_.records = !recording_.header().closed && (phase == Phase::warmup || phase == Phase::active);
    find_step();
    choose_chunks();
    read();
    if (out_.latest_ticks) out_.latest_age_ns = age(ns(out_.latest_ticks));
    if (!model_.events.empty()) add_collectives();
    return std::move(out_);
  }

 private:
  i64 ns(u64 ticks) const { return clock_.realtime_ns(ticks); }
  i64 age(i64 at_ns) const { return std::max<i64>(now_ns_ - at_ns, 0); }

  void find_step() {
    for (const StepInfo& step : settled_steps(meta_)) out_.step = std::max(out_.step, step.number);
    const StepNow& now = recording_.header().step;
    out_.step_ticks = now.last_ticks;
    u64 recorded = 0;
    for (const StepInfo& step : meta_.steps) recorded = std::max(recorded, step.begin_ticks);
    if (now.begin_ticks > recorded) out_.step = now.number;
  }

  // From the last moment on at which torch's own counts are known, if that is not too much; else the newest ones, and
  // that of each thread.
  void choose_chunks() {
    Recording::UsedChunks used = recording_.used_chunks();
    std::erase_if(used.headers, [](const ChunkHeader& h) { return h.stream != u32(Stream::data); });
    std::sort(used.headers.begin(), used.headers.end(), [](const ChunkHeader& a, const ChunkHeader& b) {
      return std::pair(a.first_ticks, a.index) > std::pair(b.first_ticks, b.index);
    });
    std::map<u64, u64> marked;  // by group: the last mark
    for (const GroupRecord& group : meta_.groups) marked[group.address] = group.ticks;
    counted_from_ = kNever;
    for (const auto& [address, ticks] : marked) counted_from_ = std::min(counted_from_, ticks);
    std::map<u32, u64> newer;  // by thread: where its next chunk begins, which is where this one ends
    bool whole = true;
    for (const ChunkHeader& h : used.headers) {
      auto [next, newest] = newer.try_emplace(h.tid, kNever);
      bool wanted = newest || next->second >= counted_from_;
      if (newest || (wanted && chunks_.size() < kMostChunks)) {
        chunks_.push_back(h.index);
      } else {
        read_from_ = std::max(read_from_, next->second);
        whole &= !wanted;
      }
      next->second = h.first_ticks;
    }
    std::reverse(chunks_.begin(), chunks_.end());  // in the order of their use
    // Chunks are punched out window by window. If one is gone before any window is written, the calls in it are not
    // counted; nor are those that flight mode has dropped, unless what it keeps reaches back to that moment.
    const FileHeader& header = recording_.header();
    bool lost = used.punched_out && header.given_back == 0;
    lost |= header.kept_epoch && (used.headers.empty() || used.headers.back().first_ticks > counted_from_);
    counts_ = whole && counted_from_ != kNever && !lost;
  }

  void read() {
    recording_.for_each_data_in(chunks_, [&](const RecordView& view) {
      out_.latest_ticks = std::max(out_.latest_ticks, event_ticks(view));
      if (is_range(view))
        add_range(view);
      else if (view.kind() == Kind::call)
        add_call(view);
      else if (view.kind() == Kind::range_end)
        ends_[view.as<RangeEndRecord>().begin] = view.as<RangeEndRecord>().end_ticks;
    });
    for (const auto& [ref, index] : open_)
      if (auto end = ends_.find(ref); end != ends_.end()) finish(model_.events[index], end->second);
  }

  void add_range(const RecordView& view) {
    RangeView r = range_of(view);
    out_.latest_ticks = std::max(out_.latest_ticks, r.end_ticks);
    u32 name = names_(view.record->id);
    const std::string& text = model_.names[name];
    // A label whose operator lies in a chunk that is not read would count as a call of its own.
    bool is_label = is_backend_label(text) && r.begin_ticks >= read_from_;
    if (!is_collective_op(text) && !is_label) return;
    Event e;
    e.name = name;
    e.scope = r.scope;
    if (r.flags & kRangeAsync) e.flags |= kEventAsync;
    if (r.inputs) {
      e.inputs_count = r.inputs;
      e.inputs_bytes = r.inputs_bytes;
      e.inputs = model_.arena.copy(r.inputs_at, e.inputs_bytes);
    }
    add(e, view, r.begin_ticks, r.end_ticks);
  }

  void add_call(const RecordView& view) {
    const auto& r = view.as<CallRecord>();
    out_.latest_ticks = std::max(out_.latest_ticks, r.end_ticks);
    if (!(r.flags & kCallOnComm) || view.bytes() < sizeof r + sizeof(NcclPart)) return;
    Event e;
    e.name = names_(r.head.id);
    e.scope = u8(Scope::user);
    e.flags = kEventNccl;
    e.nccl = model_.arena.copy(nccl_detail(*reinterpret_cast<const NcclPart*>(&r + 1), r));
    add(e, view, r.begin_ticks, r.end_ticks);
  }

  void add(Event& e, const RecordView& view, u64 begin_ticks, u64 end_ticks) {
    e.begin_ns = ns(begin_ticks);
    e.thread = threads_(view.tid);
    e.flags |= kEventUnfinished;
    e.dur_ns = std::max<i64>(now_ns_ - e.begin_ns, 0);
    if (end_ticks)
      finish(e, end_ticks);
    else
      open_[view.ref] = u32(model_.events.size());
    model_.events.push_back(e);
  }

  void finish(Event& e, u64 end_ticks) const {
    e.flags &= u16(~kEventUnfinished);
    e.dur_ns = std::max<i64>(ns(end_ticks) - e.begin_ns, 0);
  }

  void add_collectives() {
    model_.begin_ns = counts_ ? ns(counted_from_) : now_ns_;
    model_.end_ns = std::max(now_ns_, ns(out_.latest_ticks));
    model_.world_size = place_of(recording_.header(), meta_).world_size;
    std::vector<GroupMark> marks;
    for (const GroupRecord& r : meta_.groups) {
      i64 sequence = counts_ ? r.sequence : -1;
      marks.push_back(
          {r.address, ns(r.ticks), sequence, r.head.id, names_(r.name), names_(r.description), names_(r.ranks)});
    }
    nest_events(model_, true);
    find_collectives(model_, marks);
    find_nccl_operations(model_);
    std::vector<const Collective*> order;
    for (const Collective& c : model_.collectives) order.push_back(&c);
    std::stable_sort(order.begin(), order.end(),
                     [&](const Collective* a, const Collective* b) { return began(*a) < began(*b); });
    for (const Collective* c : order) add_collective(*c);
  }

  i64 began(const Collective& c) const { return model_.events[c.op != kNone ? c.op : c.wire].begin_ns; }

  void add_collective(const Collective& c) {
    RecentCollective call;
    call.kind = model_.names[c.name];
    if (c.dtype) call.dtype = model_.names[c.dtype];
    call.number = c.sequence;
    call.elements = c.in_elements;
    call.peer = c.peer;
    i64 at = began(c);
    call.age_ns = age(at);
    call.done = done(c);
    RecentGroup& group = group_of(c);
    auto step = std::find_if(meta_.steps.rbegin(), meta_.steps.rend(),
                             [&](const StepInfo& s) { return !(s.flags & kStepWithdrawn) && ns(s.begin_ticks) <= at; });
    bool in_step = step != meta_.steps.rend() && (!step->end_ticks || at < ns(step->end_ticks));
    if (in_step) call.step = step->number;
    // Which one it is in its step can be counted if all of the step was read.
    if (in_step && step->begin_ticks >= read_from_ && !is_transfer(call.kind)) call.turn = turn_in(group, call.step);
    group.calls.push_back(std::move(call));
  }

  static i64 turn_in(const RecentGroup& group, i64 step) {
    auto before = std::find_if(group.calls.rbegin(), group.calls.rend(), [](auto& c) { return !is_transfer(c.kind); });
    return before != group.calls.rend() && before->step == step ? before->turn + 1 : 0;
  }

  i8 done(const Collective& c) const {
    if (c.by_nccl || (c.wire == kNone && c.op == kNone)) return -1;
    if (c.wire != kNone) return !(model_.events[c.wire].flags & kEventUnfinished);
    return model_.events[c.op].flags & kEventUnfinished ? 0 : -1;
  }

  RecentGroup& group_of(const Collective& c) {
    std::string name = c.group ? model_.names[c.group] : "", ranks = c.group_ranks ? model_.names[c.group_ranks] : "";
    for (RecentGroup& group : out_.groups)
      if (group.name == name && group.ranks == ranks) return group;
    out_.groups.push_back({std::move(name), std::move(ranks), {}});
    return out_.groups.back();
  }

  Recording& recording_;
  const Meta& meta_;
  ClockMap clock_;
  Model model_;  // its times are nanoseconds of CLOCK_REALTIME
  NameTable names_;
  ThreadTable threads_;
  i64 now_ns_;
  std::vector<u32> chunks_;
  u64 counted_from_ = 0, read_from_ = 0;
  bool counts_ = false;  // all chunks since the last marks of groups are read
  std::map<RecordRef, u32> open_;
  std::map<RecordRef, u64> ends_;
  Recent out_;
};

}  // namespace

Recent recent_of(Recording& recording, const Meta& meta) { return RecentReader(recording, meta).run(); }

}  // namespace tprof
