// The Distributed view by torch_tb_profiler 0.4.3's own rules, including its mistakes.
//
// A collective is an operator or label with one of ten names ("nccl:all_reduce" ...), together with the kernels of its
// External id (if the trace has NCCL kernels). The n-th ones of all workers, by start, are taken for the same
// collective, whatever their names; for each range, the shortest of all workers' is the transfer. If a worker has no
// collectives, or a different number of them, the plugin does not show the view for the run.
#include <algorithm>
#include <map>

#include "analysis/basis/tensors.h"
#include "base/dtypes.h"
#include "model/plugin_trace.h"
#include "plugin_compat/distributed.h"
#include "plugin_compat/gpus.h"
#include "plugin_compat/recommendations.h"
#include "plugin_compat/steps.h"

namespace tprof {

struct PluginCollective {
  std::string name;
  double begin = 0, end = 0;  // of the operator
  PluginRanges ranges;        // of the operator and its kernels
  std::optional<std::string> step;
  i64 bytes = 0;
};

struct PluginRank {
  struct Step {
    std::string name;
    double us, computation, overlap, communication;
  };
  struct Gpu {
    i64 number;
    PluginDevice device;
  };
  std::string worker;
  std::vector<Step> steps;
  std::vector<PluginCollective> collectives;
  std::vector<Gpu> gpus;
  bool has_properties = false, communicates = false;
  std::string loses_view;  // why the plugin fails on this trace; empty: it does not
};

namespace {

// Element sizes of the input types that the plugin knows; others count as 0 bytes.
i64 plugin_bytes(u8 dtype) {
  switch (dtype) {
    case kDtypeByte: return 1;
    case kDtypeInt:
    case kDtypeFloat: return 4;
    case kDtypeLong: return 8;
    case kDtypeHalf:
    case kDtypeBFloat16: return 2;
    default: return 0;
  }
}

class PluginRankReader {
 public:
  PluginRankReader(const Model& model, const PluginTrace& trace, const std::string& worker)
      : model_(model), trace_(trace), steps_(plugin_steps(model, trace)) {
    out_.worker = worker;
  }

  PluginRank run() {
    find_collectives();
    out_.communicates = !steps_.of(Category::communication).empty();
    add_steps();
    assign_steps();
    add_gpus();
    return std::move(out_);
  }

 private:
  void find_collectives() {
    bool nccl = false, gloo = false;
    std::map<i64, size_t> by_id;
    for (const PluginEvent& e : trace_.events) {
      if (!is_plugin_node(e.type)) continue;
      PluginLibrary library = library_of(model_.names[e.name]);
      if (library == PluginLibrary::none) continue;
      (library == PluginLibrary::nccl ? nccl : gloo) = true;
      auto [at, added] = by_id.try_emplace(e.external_id, out_.collectives.size());
      if (added) out_.collectives.emplace_back();
      out_.collectives[at->second] = collective_of(e);
    }
    for (const PluginEvent& e : trace_.events)
      if (auto at = by_id.find(e.external_id); nccl && e.type == PluginType::kernel && at != by_id.end())
        out_.collectives[at->second].ranges.push_back({e.ts_us, e.end_us()});
    if (nccl && gloo) out_.collectives.clear();
    for (PluginCollective& c : out_.collectives)
      std::stable_sort(c.ranges.begin(), c.ranges.end(), [](const PluginRange& a, const PluginRange& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
      });
    std::stable_sort(out_.collectives.begin(), out_.collectives.end(),
                     [](const PluginCollective& a, const PluginCollective& b) {
                       return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
                     });
  }

  PluginCollective collective_of(const PluginEvent& e) {
    PluginCollective out{model_.names[e.name], e.ts_us, e.end_us(), {{e.ts_us, e.end_us()}}, {}};
    if (e.item >= model_.events.size()) return out;
    double bytes = 0;
    for (const OpInput& input : inputs_of(model_.events[e.item])) {
      if (!input.list.empty()) out_.loses_view = "the plugin fails on a collective with a list of tensors";
      if (input.tensor.defined) bytes += input.tensor.elements() * double(plugin_bytes(input.tensor.dtype));
    }
    out.bytes = std::max<i64>(0, size_or_unknown(bytes));
    return out;
  }

  void add_steps() {
    const PluginRanges& communication = steps_.of(Category::communication);
    const PluginRanges& kernels = steps_.of(Category::kernel);
    const PluginRanges& computation = kernels.empty() ? steps_.of(Category::cpu) : kernels;
    PluginRanges both = common(computation, communication);
    for (const PluginStep& step : steps_.steps) {
      PluginRanges time{{step.begin, step.end}};
      out_.steps.push_back({step.name, step.end - step.begin, length_of(common(time, computation)),
                            length_of(common(time, both)), length_of(common(time, communication))});
    }
  }

  // Gives each collective the step that contains it completely, if there is one; after the last step the plugin stops.
  void assign_steps() {
    size_t step = 0;
    const std::vector<PluginStep>& steps = steps_.steps;
    for (PluginCollective& c : out_.collectives) {
      while (step < steps.size() && c.begin >= steps[step].end &&
             !(c.begin >= steps[step].begin && c.end <= steps[step].end))
        step++;
      if (step == steps.size()) break;
      if (c.begin >= steps[step].begin && c.end <= steps[step].end) c.step = steps[step].name;
    }
  }

  void add_gpus() {
    out_.has_properties = !trace_.devices.empty();
    std::map<i64, bool> used;
    for (const PluginEvent& e : trace_.events)
      if (e.type == PluginType::kernel || e.type == PluginType::copy || e.type == PluginType::set) used[e.pid] = true;
    for (const auto& [number, is] : used)
      if (number >= 0 && number < i64(trace_.devices.size()))
        out_.gpus.push_back({number, trace_.devices[size_t(number)]});
  }

  const Model& model_;
  const PluginTrace& trace_;
  const PluginSteps steps_;
  PluginRank out_;
};

using PluginRanks = std::vector<std::shared_ptr<const PluginRank>>;

// Empty: the plugin shows the view.
std::string why_no_view(const PluginRanks& ranks) {
  for (const auto& rank : ranks) {
    if (!rank->loses_view.empty()) return rank->worker + ": " + rank->loses_view;
    if (!rank->communicates || rank->collectives.empty())
      return rank->worker + " has no collective that the plugin knows";
    const PluginRank& first = *ranks[0];
    if (rank->collectives.size() != first.collectives.size())
      return rank->worker + " has a different number of collectives than " + first.worker;
    for (size_t i = 0; i < first.collectives.size(); i++)
      if (rank->collectives[i].ranges.size() != first.collectives[i].ranges.size())
        return rank->worker + " has a different number of kernels in a collective than " + first.worker;
  }
  return "";
}

// By collective, by range: the shortest of all workers.
std::vector<std::vector<double>> transfers_of(const PluginRanks& ranks) {
  std::vector<std::vector<double>> out;
  for (size_t i = 0; i < ranks[0]->collectives.size(); i++) {
    std::vector<double>& least = out.emplace_back(ranks[0]->collectives[i].ranges.size(), kPluginNever);
    for (const auto& rank : ranks)
      for (size_t j = 0; j < least.size(); j++) {
        const PluginRange& r = rank->collectives[i].ranges[j];
        least[j] = std::min(least[j], r.end - r.begin);
      }
  }
  return out;
}

// Ranges of several collectives: their total time, and the part that moves data.
struct PluginSums {
  u64 calls = 0;
  i64 bytes = 0;
  PluginRanges latency, transfer;

  void add(const PluginCollective& c, const std::vector<double>& transfers) {
    calls++;
    bytes += c.bytes;
    for (size_t j = 0; j < c.ranges.size(); j++) {
      latency.push_back(c.ranges[j]);
      transfer.push_back({c.ranges[j].end - transfers[j], c.ranges[j].end});
    }
  }
  double latency_us() { return length_of(latency = merged(std::move(latency))); }
  double transfer_us() { return length_of(transfer = merged(std::move(transfer))); }
};

template <class Key>
PluginSums& sums_of(std::vector<std::pair<Key, PluginSums>>& list, const Key& key) {
  for (auto& [known, sums] : list)
    if (known == key) return sums;
  return list.emplace_back(key, PluginSums()).second;
}

class PluginDistributedView {
 public:
  explicit PluginDistributedView(PluginRanks ranks) : ranks_(std::move(ranks)) {
    std::stable_sort(ranks_.begin(), ranks_.end(), [](auto& a, auto& b) { return a->worker < b->worker; });
  }

  DistributedView run() {
    out_.rules = RuleSet::plugin;
    for (const auto& rank : ranks_) out_.ranks.push_back({rank->worker});
    if (std::string why = why_no_view(ranks_); !why.empty()) {
      out_.notes.push_back("the plugin has no Distributed view: " + why);
      return std::move(out_);
    }
    std::vector<std::vector<double>> transfers = transfers_of(ranks_);
    for (u32 r = 0; r < ranks_.size(); r++) add(r, transfers);
    out_.steps = std::move(means_);
    for (auto& [name, rows] : steps_) out_.steps.insert(out_.steps.end(), rows.begin(), rows.end());
    add_gpus();
    return std::move(out_);
  }

 private:
  using StepName = std::optional<std::string>;

  void add(u32 r, const std::vector<std::vector<double>>& transfers) {
    std::vector<std::pair<std::string, PluginSums>> ops;
    std::vector<std::pair<StepName, PluginSums>> waits;
    for (size_t i = 0; i < transfers.size(); i++) {
      const PluginCollective& c = ranks_[r]->collectives[i];
      sums_of(ops, c.name).add(c, transfers[i]);
      sums_of(waits, c.step).add(c, transfers[i]);
    }
    for (auto& [name, sums] : ops)
      out_.operations.push_back(
          {r, name, "", sums.calls, sums.bytes, whole_ns(sums.latency_us()), whole_ns(sums.transfer_us())});
    add_steps(r);
    double transfer = 0, synchronizing = 0;
    for (auto& [step, sums] : waits) {
      RankInStep& row = row_of(r, step);
      double moving = sums.transfer_us(), waiting = sums.latency_us() - moving;
      row.transfer_ns = whole_ns(moving);
      row.synchronizing_ns = whole_ns(waiting);
      transfer += moving;
      synchronizing += waiting;
    }
    means_[r].transfer_ns = mean_ns(transfer, waits.size());
    means_[r].synchronizing_ns = mean_ns(synchronizing, waits.size());
  }

  void add_steps(u32 r) {
    double sums[4] = {};
    for (const PluginRank::Step& step : ranks_[r]->steps) {
      double parts[] = {step.computation - step.overlap, step.overlap, step.communication - step.overlap,
                        step.us + step.overlap - step.computation - step.communication};
      for (size_t i = 0; i < 4; i++) sums[i] += parts[i];
      RankInStep& row = row_of(r, step.name);
      row.total_ns = whole_ns(step.us);
      row.computation_ns = whole_ns(parts[0]);
      row.overlap_ns = whole_ns(parts[1]);
      row.communication_ns = whole_ns(parts[2]);
      row.other_ns = whole_ns(parts[3]);
    }
    size_t steps = ranks_[r]->steps.size();
    RankInStep mean{r, {}, true};
    mean.computation_ns = mean_ns(sums[0], steps);
    mean.overlap_ns = mean_ns(sums[1], steps);
    mean.communication_ns = mean_ns(sums[2], steps);
    mean.other_ns = mean_ns(sums[3], steps);
    means_.push_back(mean);
  }

  // Truncated to whole microseconds.
  static i64 mean_ns(double us, size_t of) { return 1000 * i64(us / double(std::max<size_t>(1, of))); }

  RankInStep& row_of(u32 r, const StepName& step) {
    auto at = std::find_if(steps_.begin(), steps_.end(), [&](const auto& s) { return s.first == step; });
    if (at == steps_.end()) at = steps_.insert(at, {step, {}});
    if (at->second.empty() || at->second.back().rank != r) at->second.push_back({r, step});
    return at->second.back();
  }

  // Splits "host_4711" and what follows at the last number after a "_".
  static std::pair<std::string, std::string> node_and_process(const std::string& worker) {
    constexpr char kDigits[] = "0123456789";
    for (size_t at = worker.rfind('_'); at != worker.npos; at = at ? worker.rfind('_', at - 1) : worker.npos) {
      size_t end = std::min(worker.find_first_not_of(kDigits, at + 1), worker.size());
      if (end > at + 1) return {worker.substr(0, at), worker.substr(at + 1, end - at - 1)};
    }
    return {worker, ""};
  }

  void add_gpus() {
    std::vector<std::string> nodes;
    std::map<std::string, std::map<std::string, std::vector<NodeGpu>>> found;  // by node, by process
    i64 index = 0;
    for (u32 r = 0; r < ranks_.size(); r++) {
      const PluginRank& rank = *ranks_[r];
      if (!rank.has_properties) continue;
      auto [node, number] = node_and_process(rank.worker);
      std::string process = "Process " + (number.empty() ? std::to_string(index++) : number);
      if (!found.count(node)) nodes.push_back(node);
      std::vector<NodeGpu>& gpus = found[node][process];
      gpus.clear();  // if two have the same name, the last one wins
      for (const PluginRank::Gpu& used : rank.gpus) {
        GpuFigures g;
        g.device = u32(used.number);
        describe_gpu(g, used.device);
        gpus.push_back({r, node, process, g});
      }
    }
    for (const std::string& node : nodes)
      for (auto& [process, gpus] : found[node]) out_.gpus.insert(out_.gpus.end(), gpus.begin(), gpus.end());
  }

  PluginRanks ranks_;
  std::vector<RankInStep> means_;
  std::vector<std::pair<StepName, std::vector<RankInStep>>> steps_;  // in order of appearance
  DistributedView out_;
};

}  // namespace

std::shared_ptr<const PluginRank> plugin_rank_of(const Model& model, const PluginTrace& trace,
                                                 const std::string& worker) {
  return std::make_shared<PluginRank>(PluginRankReader(model, trace, worker).run());
}

DistributedView plugin_distributed_view(std::vector<std::shared_ptr<const PluginRank>> ranks) {
  return PluginDistributedView(std::move(ranks)).run();
}

}  // namespace tprof
