#include "analysis/basis/waits.h"

#include <algorithm>
#include <map>

#include "analysis/basis/copies.h"
#include "model/sort.h"

namespace tprof {
namespace {

// The GPU activities that a call launched, and the one before them.
struct OwnWork {
  u32 first = kNone, last = kNone;  // the first to start, the last to end
  u32 before = kNone;               // the activity of the stream that ended last before `first` started
};

class Finder {
 public:
  Finder(const Model& model, const NameClasses& classes) : model_(model), classes_(classes), own_(model.calls.size()) {
    std::map<std::pair<u32, u32>, u32> last_of;  // by device and stream: the activity that ended last so far
    for (u32 i = 0; i < model.gpu.size(); i++) {
      const GpuEvent& e = model.gpu[i];
      if (e.kind() == Kind::sync && e.call != kNone)
        waits_on_[e.call] = e.wait_stream == kNone ? e.stream : e.wait_stream;
      if (!e.runs_on_gpu()) continue;
      u32& last = last_of.try_emplace({e.device, e.stream}, kNone).first->second;
      if (e.call != kNone) add_own(own_[e.call], i, last);
      if (last == kNone || model.gpu[last].end_ns() <= e.end_ns()) last = i;
      by_end_.push_back(i);
      given_.push_back({e.call == kNone ? e.begin_ns : std::min(e.begin_ns, model.calls[e.call].begin_ns), i});
    }
    std::stable_sort(by_end_.begin(), by_end_.end(), [&](u32 a, u32 b) { return end_of(a) < end_of(b); });
    sort_if_needed(given_, [](const Given& a, const Given& b) { return a.ns < b.ns; });
    for (size_t i = 1; i < given_.size(); i++)
      if (end_of(given_[i - 1].ends_last) > end_of(given_[i].ends_last)) given_[i].ends_last = given_[i - 1].ends_last;
  }

  // Whether the call waited, and if so, for what.
  bool find(u32 index, Wait& out) const {
    const CallEvent& call = model_.calls[index];
    const OwnWork& own = own_[index];
    if (own.first != kNone)
      return classes_.is(call, NameClass::launches) ? launch(call, own, out) : copy(call, own, out);
    if (classes_.is(call, NameClass::synchronises)) {
      out = {call.begin_ns, call.end_ns(), last_ended_in(index)};
      return true;
    }
    return !classes_.is(call, NameClass::launches) && idle_at_last(call, out);
  }

 private:
  // The activity that ends last of those that were launched up to a given time.
  struct Given {
    i64 ns;
    u32 ends_last;
  };

  i64 end_of(u32 work) const { return model_.gpu[work].end_ns(); }

  void add_own(OwnWork& own, u32 work, u32 before) const {
    if (own.first == kNone) own = {work, work, before};
    if (end_of(work) > end_of(own.last)) own.last = work;
  }

  bool launch(const CallEvent& call, const OwnWork& own, Wait& out) const {
    const GpuEvent& work = model_.gpu[own.first];
    bool blocks = call.activities == 1 && work.end_ns() <= call.end_ns() && 2 * work.dur_ns >= call.dur_ns;
    out = {std::max(work.begin_ns, call.begin_ns), work.end_ns(), own.first, own.first};
    return blocks && out.length() > 0;
  }

  bool copy(const CallEvent& call, const OwnWork& own, Wait& out) const {
    out = {call.begin_ns, call.begin_ns};
    if (end_of(own.last) <= call.end_ns()) out.own = own.last;
    const GpuEvent& work = model_.gpu[own.first];
    bool pageable = work.kind() == Kind::copy && host_memory_of(work) == HostMemory::pageable && out.own != kNone;
    u32 before = work.begin_ns < call.end_ns() ? ended_before(call, own) : kNone;
    i64 free = before == kNone ? 0 : end_of(before);
    if (free <= call.end_ns() && free - call.begin_ns >= (pageable ? 1 : kMinWaitNs)) {
      out.end_ns = free;
      out.work = before;
    }
    return out.work != kNone || out.own != kNone;
  }

  // The activity that the call's own one waited for; kNone: none.
  u32 ended_before(const CallEvent& call, const OwnWork& own) const {
    if (own.before != kNone && end_of(own.before) > call.begin_ns) return own.before;
    const GpuEvent& work = model_.gpu[own.first];
    i64 least = std::max(call.begin_ns, work.begin_ns - kKernelWaitNs);
    auto at = std::partition_point(by_end_.begin(), by_end_.end(), [&](u32 i) { return end_of(i) <= work.begin_ns; });
    while (at != by_end_.begin() && end_of(at[-1]) > least) {
      --at;
      if (model_.gpu[*at].device == work.device && *at != own.first) return *at;
    }
    return kNone;
  }

  bool idle_at_last(const CallEvent& call, Wait& out) const {
    if (call.dur_ns < kMinWaitNs) return false;
    auto after = std::partition_point(given_.begin(), given_.end(), [&](auto& g) { return g.ns < call.begin_ns; });
    if (after == given_.begin()) return false;
    u32 work = after[-1].ends_last;
    out = {call.begin_ns, end_of(work), work};
    return out.end_ns <= call.end_ns() && 4 * out.length() >= 3 * call.dur_ns;
  }

  // The last activity that ended during the call; one of the stream that it waits for, if that is known and has one.
  u32 last_ended_in(u32 index) const {
    const CallEvent& call = model_.calls[index];
    auto stream = waits_on_.find(index);
    u32 any = kNone;
    auto at = std::partition_point(by_end_.begin(), by_end_.end(), [&](u32 i) { return end_of(i) <= call.end_ns(); });
    while (at != by_end_.begin() && end_of(at[-1]) > call.begin_ns) {
      --at;
      if (any == kNone) any = *at;
      if (stream == waits_on_.end() || stream->second == kNone) break;
      if (model_.gpu[*at].stream == stream->second) return *at;
    }
    return any;
  }

  const Model& model_;
  const NameClasses& classes_;
  std::vector<OwnWork> own_;               // by call
  std::vector<u32> by_end_;                // GPU activities in order of end
  std::vector<Given> given_;               // in order of time
  std::unordered_map<u32, u32> waits_on_;  // by call: the stream it waits for, kNone: all
};

}  // namespace

Waits::Waits(const Model& model, const NameClasses& classes) {
  Finder finder(model, classes);
  Wait wait{};
  for (u32 i = 0; i < model.calls.size(); i++)
    if (finder.find(i, wait)) waits_.emplace(i, wait);
}

const Wait* Waits::of(u32 call) const {
  auto found = waits_.find(call);
  return found == waits_.end() ? nullptr : &found->second;
}

i64 Waits::ns(u32 call) const {
  const Wait* wait = of(call);
  return wait ? wait->length() : 0;
}

}  // namespace tprof
