#include "analysis/basis/lanes.h"

#include <algorithm>
#include <unordered_map>

namespace tprof {
namespace {

class LaneFiller {
 public:
  LaneFiller(const Model& model, OpTree& tree) : model_(model), tree_(tree) {}

  void run() {
    gather();
    if (rows_.empty()) return;
    gather_launches();
    for (auto& [owner, row] : rows_) {
      share_host(row);
      claim_launches(row);
      for (size_t at : row.ranges) sum_launches(row, tree_.nodes[at]);
    }
  }

 private:
  struct Launch {
    i64 ns;
    size_t gpu;  // index into Model::gpu
    TensorCoreUse tensor;
  };
  // A thread and its lanes.
  struct Row {
    std::vector<size_t> nodes, ranges;  // in order of start; ranges: those in a lane
    std::vector<Launch> launches;       // by time
  };

  bool is_async(const OpNode& node) const {
    return node.event != kNone && model_.events[node.event].flags & kEventAsync;
  }
  bool is_in_lane(const OpNode& node) const {
    return node.kind == NodeKind::label && model_.threads[node.thread].is_lane() && !is_async(node);
  }
  Row* row_of(u32 thread) {
    auto at = rows_.find(model_.threads[thread].owner);
    return at == rows_.end() ? nullptr : &at->second;
  }

  void gather() {
    for (size_t i = 0; i < tree_.nodes.size(); i++)
      if (is_in_lane(tree_.nodes[i])) rows_[model_.threads[tree_.nodes[i].thread].owner].ranges.push_back(i);
    if (rows_.empty()) return;
    for (size_t i = 0; i < tree_.nodes.size(); i++)
      if (Row* row = row_of(tree_.nodes[i].thread); row && !is_async(tree_.nodes[i])) row->nodes.push_back(i);
  }

  void gather_launches() {
    TensorCoreNames names(model_, tree_.rules);
    for (size_t i = 0; i < model_.gpu.size(); i++) {
      const GpuEvent& work = model_.gpu[i];
      if (!work.runs_on_gpu() || work.call == kNone) continue;
      const CallEvent& call = model_.calls[work.call];
      TensorCoreUse tensor = work.kind() == Kind::kernel ? names.answer(work.name) : TensorCoreUse::no;
      if (Row* row = row_of(call.thread)) row->launches.push_back({call.begin_ns, i, tensor});
    }
    for (auto& [owner, row] : rows_)
      std::stable_sort(row.launches.begin(), row.launches.end(), [](auto& a, auto& b) { return a.ns < b.ns; });
  }

  void share_host(Row& row) {
    std::vector<OpNode*> steps, others;  // that have begun; the last ones have not ended
    i64 now = INT64_MIN;
    auto drop_ended = [&](std::vector<OpNode*>& open) {
      while (!open.empty() && open.back()->end_ns <= now) open.pop_back();
      return !open.empty();
    };
    auto advance = [&](i64 to) {
      while (now < to && (drop_ended(others) || drop_ended(steps))) {
        OpNode& last = *(others.empty() ? steps : others).back();
        i64 end = std::min(last.end_ns, to);
        last.host_self_ns += end - now;
        now = end;
      }
      now = to;
    };
    for (size_t at : row.nodes) {
      OpNode& node = tree_.nodes[at];
      advance(node.begin_ns);
      node.host_self_ns = 0;
      (node.kind == NodeKind::step ? steps : others).push_back(&node);
    }
    advance(INT64_MAX);
  }

  void claim_launches(Row& row) {
    std::vector<size_t> open;
    auto next = row.ranges.begin();
    for (const Launch& launch : row.launches) {
      for (; next != row.ranges.end() && tree_.nodes[*next].begin_ns <= launch.ns; ++next) open.push_back(*next);
      while (!open.empty() && tree_.nodes[open.back()].end_ns <= launch.ns) open.pop_back();
      if (!open.empty()) claim(launch, open.back());
    }
  }

  void claim(const Launch& launch, size_t range) {
    i32& of = tree_.of_gpu[launch.gpu];
    OpNode& to = tree_.nodes[range];
    i64 dur_ns = model_.gpu[launch.gpu].dur_ns, tensor_ns = launch.tensor == TensorCoreUse::yes ? dur_ns : 0;
    if (of >= 0) {
      OpNode& from = tree_.nodes[size_t(of)];
      if (from.kind != NodeKind::step && from.begin_ns > to.begin_ns) return;
      from.device_self_ns -= dur_ns;
      from.tensor_self_ns -= tensor_ns;
    } else {
      tree_.unattributed_ns -= dur_ns;
    }
    of = i32(range);
    to.device_self_ns += dur_ns;
    to.tensor_self_ns += tensor_ns;
    to.tensor_self_unknown |= launch.tensor == TensorCoreUse::unknown;
  }

  void sum_launches(const Row& row, OpNode& range) {
    auto at = std::lower_bound(row.launches.begin(), row.launches.end(), range.begin_ns,
                               [](const Launch& launch, i64 ns) { return launch.ns < ns; });
    range.device_total_ns = range.tensor_total_ns = 0;
    range.tensor_total_unknown = false;
    for (; at != row.launches.end() && at->ns < range.end_ns; ++at) {
      i64 dur_ns = model_.gpu[at->gpu].dur_ns;
      range.device_total_ns += dur_ns;
      if (at->tensor == TensorCoreUse::yes) range.tensor_total_ns += dur_ns;
      range.tensor_total_unknown |= at->tensor == TensorCoreUse::unknown;
    }
  }

  const Model& model_;
  OpTree& tree_;
  std::unordered_map<u32, Row> rows_;  // by owner
};

}  // namespace

void fill_lanes(const Model& model, OpTree& tree) { LaneFiller(model, tree).run(); }

}  // namespace tprof
