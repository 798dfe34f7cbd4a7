#include "analysis/time/idle.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/basis/launches.h"

namespace tprof {
namespace {

struct ReasonKey {
  Activity activity;
  u32 name;
  bool operator==(const ReasonKey&) const = default;
};
struct ReasonHash {
  size_t operator()(const ReasonKey& k) const { return size_t(k.name) * kActivities + size_t(k.activity); }
};

class LaneBuilder {
 public:
  LaneBuilder(const Model& model, const Windows& windows, HostTimelines& timelines, u32 device, u32 stream)
      : model_(model),
        window_(windows.all),
        time_(windows.time),
        timelines_(timelines),
        main_(main_thread_of(model)),
        at_(window_.begin) {
    lane_.device = device;
    lane_.stream = stream;
  }

  // When all activities added so far have ended.
  i64 busy_until() const { return at_; }

  // Activities must come in order of start. others() returns until when the device's other streams are busy.
  template <class Others>
  void add(u32 index, Others others) {
    const GpuEvent& work = model_.gpu[index];
    i64 begin = std::max(work.begin_ns, window_.begin), end = std::min(work.end_ns(), window_.end);
    if (end <= begin) return;
    if (begin > at_) {
      if (last_ == kNone || time_.length_in(at_, begin) < begin - at_)  // an evaluation lies between
        edges(at_, begin, index);
      else
        gap({at_, begin, IdleCause::unknown, index}, others);
    }
    if (end > at_) lane_.busy_ns += time_.length_in(std::max(begin, at_), end);
    if (end >= at_) last_ = index;
    at_ = std::max(at_, end);
  }

  IdleLane finish() {
    edges(at_, window_.end, kNone);
    lane_.idle_ns = time_.length() - lane_.busy_ns;
    for (auto& [key, reason] : reasons_) lane_.reasons.push_back(reason);
    std::sort(lane_.reasons.begin(), lane_.reasons.end(),
              [](const HostReason& a, const HostReason& b) { return a.ns != b.ns ? a.ns > b.ns : a.name < b.name; });
    return std::move(lane_);
  }

 private:
  // Adds the parts of [begin, end) that lie in the windows as edges; `next`, unless it is kNone, ends the last part.
  void edges(i64 begin, i64 end, u32 next) {
    IntervalSet counting = time_ & IntervalSet(begin, end);
    for (const Interval& part : counting.intervals()) {
      Gap edge{part.begin, part.end, IdleCause::unknown, part.end == end ? next : kNone, true};
      lane_.edges_ns += edge.length();
      gap(edge, [] { return INT64_MIN; });
    }
  }

  template <class Others>
  void gap(Gap gap, Others others) {
    if (i64 returned = late_launch_returned(gap); returned) {
      Gap late = gap;
      gap.end_ns = late.begin_ns = returned;
      one_gap(gap, others);
      one_gap(late, others);
    } else {
      one_gap(gap, others);
    }
  }

  // When a late launch returned, if the activity started so long after it that something else delayed it too; else 0.
  i64 late_launch_returned(const Gap& gap) const {
    u32 call = gap.next == kNone ? kNone : model_.gpu[gap.next].call;
    if (call == kNone || timelines_.waits().of(call)) return 0;
    i64 returned = model_.calls[call].end_ns();
    return returned > gap.begin_ns && gap.end_ns - returned > kLongDelayNs ? returned : 0;
  }

  template <class Others>
  void one_gap(Gap gap, Others others) {
    u32 call = gap.next == kNone ? kNone : model_.gpu[gap.next].call;
    if (call != kNone) {
      gap.cause = host_was_late(gap, call)                ? IdleCause::host_wait
                  : gap.length() < kKernelWaitNs          ? IdleCause::kernel_wait
                  : others() > gap.end_ns - kKernelWaitNs ? IdleCause::other
                                                          : IdleCause::device;
      if (gap.cause == IdleCause::host_wait)
        blame(gap, std::clamp(model_.calls[call].begin_ns, gap.begin_ns, gap.end_ns), model_.calls[call].thread);
    } else if (gap.next == kNone && main_ != kNone) {
      gap.cause = IdleCause::host_wait;
      blame(gap, gap.end_ns, main_);
    }
    lane_.by_cause[u32(gap.cause)] += gap.length();
    if (gap.edge) lane_.edges_by_cause[u32(gap.cause)] += gap.length();
    lane_.gaps.push_back(gap);
  }

  // A call hands its work to the device at some time before it returns. If it then waited, or part of its work was done
  // already, it is assumed to have done so when it was called.
  bool host_was_late(const Gap& gap, u32 call) const {
    bool given_at_begin = timelines_.waits().of(call) || (last_ != kNone && model_.gpu[last_].call == call);
    const CallEvent& launch = model_.calls[call];
    return (given_at_begin ? launch.begin_ns : launch.end_ns()) > gap.begin_ns;
  }

  void blame(Gap& gap, i64 launched, u32 thread) {
    gap.host_ns = launched - gap.begin_ns;
    lane_.launch_ns += gap.end_ns - launched;
    i64 sums[kActivities] = {};
    walk(thread, gap.begin_ns, launched, [&](const ActivityPiece& piece) {
      if (piece.activity == Activity::nothing && thread != main_ && main_ != kNone)
        walk(main_, piece.begin_ns, piece.end_ns, [&](const ActivityPiece& its) { count(gap, its, sums); });
      else
        count(gap, piece, sums);
    });
    if (gap.edge) {
      for (u32 a = 0; a < kActivities; a++) lane_.at_edges[a] += sums[a];
      lane_.launch_at_edges_ns += gap.end_ns - launched;
    }
    if (gap.sync != kNone) {
      for (u32 a = 0; a < kActivities; a++) lane_.after_sync[a] += sums[a];
      lane_.launch_after_sync_ns += gap.end_ns - launched;
    }
    gap.most = static_cast<Activity>(std::max_element(sums, sums + kActivities) - sums);
  }

  // Calls out(piece) for each piece of the thread in [begin, end), and with Activity::nothing for the time between
  // them.
  template <class Out>
  void walk(u32 thread, i64 begin, i64 end, Out out) {
    const std::vector<ActivityPiece>& all = timelines_.of(thread);
    auto piece =
        std::partition_point(all.begin(), all.end(), [&](const ActivityPiece& x) { return x.end_ns <= begin; });
    for (; begin < end; ++piece) {
      bool none = piece == all.end() || piece->begin_ns >= end;
      i64 next = none ? end : piece->begin_ns;
      if (next > begin) out(ActivityPiece{begin, next, Activity::nothing});
      if (none) return;
      ActivityPiece cut = *piece;
      cut.begin_ns = std::max(cut.begin_ns, begin);
      cut.end_ns = std::min(cut.end_ns, end);
      out(cut);
      begin = cut.end_ns;
    }
  }

  // Whether the call waited long enough for other GPU work to have drained the queue.
  bool waited(u32 call) const {
    const Wait* wait = timelines_.waits().of(call);
    return wait && wait->length() > kMinWaitNs;
  }

  void count(Gap& gap, const ActivityPiece& piece, i64* sums) {
    i64 ns = piece.end_ns - piece.begin_ns;
    sums[u32(piece.activity)] += ns;
    lane_.by_activity[u32(piece.activity)] += ns;
    bool from_begin = piece.begin_ns == gap.begin_ns && piece.call != kNone && !gap.edge;
    if (from_begin && model_.calls[piece.call].begin_ns < gap.begin_ns && waited(piece.call)) gap.sync = piece.call;
    bool by_call = piece.call != kNone && piece.activity != Activity::data_loading;
    u32 name = by_call ? model_.calls[piece.call].name : piece.event >= 0 ? model_.events[piece.event].name : kNone;
    HostReason& reason = reasons_.try_emplace({piece.activity, name}, HostReason{piece.activity, name}).first->second;
    reason.ns += ns;
    if (gap.edge) reason.edges_ns += ns;
    reason.gaps++;
    if (ns <= reason.longest_ns) return;
    reason.longest_ns = ns;
    reason.event = piece.event;
    reason.call = piece.call;
  }

  const Model& model_;
  Interval window_;
  const IntervalSet& time_;
  HostTimelines& timelines_;
  u32 main_;
  i64 at_;
  u32 last_ = kNone;  // the activity that ended at at_
  IdleLane lane_;
  std::unordered_map<ReasonKey, HostReason, ReasonHash> reasons_;
};

}  // namespace

const char* idle_cause_text(IdleCause cause) {
  static constexpr const char* kTexts[] = {"the host launched too late", "one kernel follows another",
                                           "waits for another stream", "the device began it late", "launch unknown"};
  return kTexts[u32(cause)];
}

std::vector<IdleLane> idle(const Model& model, const Windows& windows, HostTimelines& timelines) {
  std::map<std::pair<u32, u32>, LaneBuilder> streams;
  std::map<u32, LaneBuilder> devices;
  for (u32 i = 0; i < model.gpu.size(); i++) {
    const GpuEvent& work = model.gpu[i];
    if (!work.runs_on_gpu()) continue;
    auto lane = [&](auto& lanes, auto key, u32 stream, auto others) {
      lanes.try_emplace(key, model, windows, timelines, work.device, stream).first->second.add(i, others);
    };
    lane(devices, work.device, kNone, [] { return INT64_MIN; });
    lane(streams, std::pair(work.device, work.stream), work.stream, [&] {
      i64 until = INT64_MIN;
      for (auto at = streams.lower_bound({work.device, 0}); at != streams.end() && at->first.first == work.device; ++at)
        if (at->first.second != work.stream) until = std::max(until, at->second.busy_until());
      return until;
    });
  }
  std::vector<IdleLane> out;
  for (auto& [key, lane] : devices) out.push_back(lane.finish());
  for (auto& [key, lane] : streams) out.push_back(lane.finish());
  return out;
}

}  // namespace tprof
