// Sorts what was read, nests the ranges of each thread, and resolves the links that a trace expresses by ids and times:
// from calls to operators, from GPU activities to the calls that launched them, from forward operators to backward
// nodes.
#include <algorithm>
#include <numeric>

#include "kineto/read/state.h"
#include "model/passes.h"
#include "model/sort.h"

namespace tprof::kineto {
namespace {

// The old index of each element in the order of `less`; equal ones keep the order of the file.
template <class T, class Less>
std::vector<u32> order_of(const std::vector<T>& all, Less less) {
  std::vector<u32> order(all.size());
  std::iota(order.begin(), order.end(), 0);
  auto by_value = [&](u32 a, u32 b) { return less(all[a], all[b]); };
  stable_sort_if_needed(order, by_value);
  return order;
}

template <class T>
void reorder(std::vector<T>& all, const std::vector<u32>& order) {
  std::vector<T> sorted;
  sorted.reserve(all.size());
  for (u32 from : order) sorted.push_back(all[from]);
  all = std::move(sorted);
}

// The new index of each element.
std::vector<u32> inverse(const std::vector<u32>& order) {
  std::vector<u32> to(order.size());
  for (u32 i = 0; i < order.size(); i++) to[order[i]] = i;
  return to;
}

auto by_begin = [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; };
auto by_time = [](const auto& a, const auto& b) { return a.ns < b.ns; };

class Linker {
 public:
  explicit Linker(ReadState& state) : state_(state), model_(state.model) {}

  void run() {
    sort();
    size_t count = model_.events.size();
    nest_events(model_, true);
    if (model_.events.size() != count) state_.stated.clear();
    find_stated_collectives(state_, event_at_);
    if (model_.events.size() != count)
      state_.event_ids.clear();  // some were too deep and removed: indices have changed
    for (u32 i = 0; i < state_.event_ids.size(); i++)
      if (state_.event_ids[i] > 0) by_id_.emplace(state_.event_ids[i], i);
    for (u32 i = 0; i < model_.calls.size(); i++) model_.calls[i].op = range_of(i);
    attribute_gpu_work(model_, true);
    link_work();
    link_pairs();
  }

 private:
  void sort() {
    auto steps = order_of(model_.steps, by_begin), stretches = order_of(model_.stretches, by_begin);
    reorder(model_.steps, steps);
    reorder(model_.stretches, stretches);
    auto step_at = inverse(steps), stretch_at = inverse(stretches);
    for (Event& e : model_.events)
      if (e.flags & kEventStep) e.step_index = (e.flags & kEventStretch ? stretch_at : step_at)[e.step_index];

    auto events = order_of(model_.events, [](const Event& a, const Event& b) {
      if (a.begin_ns != b.begin_ns) return a.begin_ns < b.begin_ns;
      if (a.dur_ns != b.dur_ns) return a.dur_ns > b.dur_ns;
      return (a.flags & kEventStep) > (b.flags & kEventStep);
    });
    auto calls = order_of(model_.calls, by_begin), gpu = order_of(model_.gpu, by_begin);
    auto memory = order_of(model_.memory, by_time);
    reorder(model_.events, events);
    reorder(state_.event_ids, events);
    reorder(model_.calls, calls);
    reorder(state_.call_ids, calls);
    reorder(state_.call_correlations, calls);
    reorder(model_.gpu, gpu);
    reorder(state_.gpu_ids, gpu);
    reorder(state_.gpu_correlations, gpu);
    reorder(model_.memory, memory);
    std::stable_sort(model_.marks.begin(), model_.marks.end(), by_time);

    auto gpu_at = inverse(gpu);
    for (Collective& c : model_.collectives) c.gpu = gpu_at[c.gpu];
    std::sort(model_.collectives.begin(), model_.collectives.end(),
              [](const Collective& a, const Collective& b) { return a.gpu < b.gpu; });
    event_at_ = inverse(events);
    if (state_.plugin) sort_plugin_events(event_at_, inverse(calls), gpu_at, inverse(memory));
  }

  void sort_plugin_events(const std::vector<u32>& events, const std::vector<u32>& calls, const std::vector<u32>& gpu,
                          const std::vector<u32>& memory) {
    for (PluginEvent& e : state_.plugin->events) {
      if (e.item == kNone) continue;
      switch (e.type) {
        case PluginType::runtime: e.item = calls[e.item]; break;
        case PluginType::kernel:
        case PluginType::copy:
        case PluginType::set: e.item = gpu[e.item]; break;
        case PluginType::memory: e.item = memory[e.item]; break;
        default: e.item = events[e.item];
      }
    }
    std::stable_sort(state_.plugin->events.begin(), state_.plugin->events.end(),
                     [](const PluginEvent& a, const PluginEvent& b) { return a.ts_us < b.ts_us; });
  }

  // By its External id, if the range with that id contains the call; otherwise times decide. Old traces have the
  // correlation in place of that id (pytorch/kineto#782).
  i32 range_of(u32 index) const {
    const CallEvent& call = model_.calls[index];
    auto it = by_id_.find(state_.call_ids[index]);
    if (it == by_id_.end()) return -1;
    const Event& range = model_.events[it->second];
    bool same_thread = model_.threads[range.thread].owner == model_.threads[call.thread].owner;
    bool holds = range.begin_ns <= call.begin_ns && call.begin_ns <= range.end_ns();
    return same_thread && holds ? i32(it->second) : -1;
  }

  void link_work() {
    std::unordered_map<i64, u32> call_of;
    for (u32 i = 0; i < model_.calls.size(); i++)
      if (state_.call_correlations[i] > 0) call_of.emplace(state_.call_correlations[i], i);
    for (u32 i = 0; i < model_.gpu.size(); i++) {
      GpuEvent& e = model_.gpu[i];
      auto call = call_of.find(state_.gpu_correlations[i]);
      if (call != call_of.end()) {
        e.call = call->second;
        e.op = model_.calls[e.call].op;
        model_.calls[e.call].activities += e.runs_on_gpu();
        continue;
      }
      auto op = by_id_.find(state_.gpu_ids[i]);
      if (op != by_id_.end()) e.op = i32(op->second);
      model_.ledger.gpu.without_call += e.runs_on_gpu();
    }
  }

  // On the forward side the innermost operator that begins there counts (the rule of libkineto), on the backward side
  // the outermost one that is no wrapper.
  i64 range_at(const FlowEnd& end) const {
    auto at = std::lower_bound(model_.events.begin(), model_.events.end(), end.ns,
                               [](const Event& e, i64 ns) { return e.begin_ns < ns; });
    i64 found = -1;
    for (; at != model_.events.end() && at->begin_ns == end.ns; ++at) {
      bool same_thread = model_.threads[at->thread].owner == model_.threads[end.thread].owner;
      if (!same_thread || (at->flags & (kEventStep | kEventPython))) continue;
      if (!end.start && model_.name_of(*at).starts_with(kEvaluatePrefix)) continue;
      found = at - model_.events.begin();
      if (!end.start) break;
    }
    return found;
  }

  void link_pairs() {
    std::unordered_map<i64, const FlowEnd*> starts;
    for (const FlowEnd& end : state_.flows)
      if (end.start) starts[end.id] = &end;
    for (const FlowEnd& end : state_.flows) {
      auto start = end.start ? starts.end() : starts.find(end.id);
      if (start == starts.end()) continue;
      i64 forward = range_at(*start->second), backward = range_at(end);
      if (forward >= 0 && backward >= 0)
        model_.pairs.push_back({u32(forward), u32(backward)});
      else
        model_.ledger.pairs_left_out++;
    }
    model_.ledger.pairs = model_.pairs.size();
    if (model_.ledger.pairs_left_out) model_.ledger.pairs_why = "arrows whose ends lie at no operator";
  }

  std::vector<u32> event_at_;  // after sorting
  ReadState& state_;
  Model& model_;
  std::unordered_map<i64, u32> by_id_;  // External id -> event
};

}  // namespace

void link_all(ReadState& state) { Linker(state).run(); }

}  // namespace tprof::kineto
