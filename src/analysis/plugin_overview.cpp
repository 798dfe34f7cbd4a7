// The Overview by torch_tb_profiler 0.4.3's own rules, mistakes included: what --plugin-compat shows.
//
// It differs from ours in what is a step (annotations of GPUs too), what communicates (by External id), what it does
// not see (calls through the driver), and in adding up: where the categories so far fill the steps completely, it
// begins anew with whole steps for the next one, so that sums exceed the step.
#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "analysis/overview.h"
#include "analysis/plugin_ranges.h"
#include "analysis/plugin_recommendations.h"
#include "base/error.h"
#include "model/plugin_trace.h"

namespace tprof {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr u32 kMostGpus = 64;

bool loads_data(std::string_view name) {
  return (name.starts_with("enumerate(DataLoader)#") && name.ends_with(".__next__")) ||
         name.starts_with("enumerate(DataPipe)#");
}

bool is_device_work(PluginType type) {
  return type == PluginType::kernel || type == PluginType::copy || type == PluginType::set;
}

struct PluginStep {
  double begin, end;
  std::string name;
  double device_begin = kNever, device_end = -kNever;
  u64 works = 0;
};

class PluginView {
 public:
  PluginView(const Model& model, const PluginTrace& trace) : model_(model), trace_(trace) {}

  Overview run() {
    out_.rules = Rules::plugin;
    find_communication();
    find_categories();
    find_steps();
    extend_steps();
    drop_last_steps();
    add_up();
    summarise_gpus();
    bool has_kernels = !ranges(Category::kernel).empty();
    out_.recommendations = plugin_recommendations(model_, trace_, out_, has_kernels ? &tensor_cores_ : nullptr);
    return std::move(out_);
  }

 private:
  const std::string& name(const PluginEvent& e) const { return model_.names[e.name]; }
  PluginRanges& ranges(Category c) { return ranges_[static_cast<u32>(c)]; }

  void find_communication() {
    for (const PluginEvent& e : trace_.events)
      if (is_plugin_node(e.type) && library_of(name(e)) != PluginLibrary::none)
        communication_ids_.insert(e.external_id);
  }

  void find_categories() {
    double first = kNever, last = -kNever;
    for (const PluginEvent& e : trace_.events) {
      PluginRange range{e.ts_us, e.end_us()};
      switch (e.type) {
        case PluginType::kernel:
          ranges(communication_ids_.count(e.external_id) ? Category::communication : Category::kernel).push_back(range);
          break;
        case PluginType::copy:
          ranges(Category::copy).push_back(range);
          break;
        case PluginType::set:
          ranges(Category::set).push_back(range);
          break;
        case PluginType::runtime:
          ranges(Category::runtime).push_back(range);
          break;
        case PluginType::step:
          steps_.push_back({range.begin, range.end, step_name(name(e))});
          break;
        case PluginType::op:
        case PluginType::label:
        case PluginType::python:
          ranges(e.type != PluginType::python && loads_data(name(e)) ? Category::data_loading
                 : library_of(name(e)) != PluginLibrary::none        ? Category::communication
                                                                     : Category::cpu)
              .push_back(range);
          break;
        default:
          break;
      }
      if (e.type == PluginType::op || e.type == PluginType::python || e.type == PluginType::step) {
        first = std::min(first, range.begin);
        last = std::max(last, range.end);
      }
    }
    if (steps_.empty()) {
      if (first == kNever) throw Error(kExitUnreadable, "holds neither operators nor steps: the plugin shows nonsense");
      steps_.push_back({first, last, "0"});
    }
    for (PluginRanges& any : ranges_) any = merged(std::move(any));
    auto has = [&](Category c) { return !ranges(c).empty(); };
    out_.communicates = has(Category::communication);
    out_.uses_gpu = has(Category::runtime) || has(Category::kernel) || has(Category::copy) || has(Category::set);
  }

  static std::string step_name(const std::string& name) {
    size_t hash = name.find('#'), end = name.find('#', hash + 1);
    std::string digits = name.substr(hash + 1, end == name.npos ? end : end - hash - 1);
    try {
      size_t used = 0;
      long long number = std::stoll(digits, &used);
      if (digits.find_first_not_of(" \t\r\n", used) == digits.npos) return std::to_string(number);
    } catch (const std::exception&) {
    }
    throw Error(kExitUnreadable, "the plugin drops the file: '" + name + "' has no number");
  }

  // Which call launched what: by correlation, in order of time.
  struct Call {
    const PluginEvent* event;
    std::vector<const PluginEvent*> works;
  };

  std::vector<Call> calls_by_begin() {
    std::unordered_map<i64, std::vector<const PluginEvent*>> waiting;
    std::unordered_map<i64, size_t> latest;
    std::vector<Call> calls;
    for (const PluginEvent& e : trace_.events) {
      if (is_device_work(e.type)) {
        works_.push_back(&e);
        auto call = latest.find(e.correlation);
        (call == latest.end() ? waiting[e.correlation] : calls[call->second].works).push_back(&e);
      } else if (e.type == PluginType::runtime) {
        latest[e.correlation] = calls.size();
        calls.push_back({&e, std::move(waiting[e.correlation])});
        waiting.erase(e.correlation);
      }
    }
    return calls;  // the events are in order of time
  }

  // Gives each step the work of calls that lie inside it as a whole.
  void find_steps() {
    size_t step = 0;
    for (const Call& call : calls_by_begin()) {
      while (step < steps_.size() && call.event->ts_us >= steps_[step].begin &&
             call.event->end_us() > steps_[step].end && call.event->ts_us >= steps_[step].end)
        step++;
      if (step == steps_.size()) break;
      PluginStep& s = steps_[step];
      if (call.event->ts_us < s.begin || call.event->end_us() > s.end) continue;
      for (const PluginEvent* work : call.works) {
        s.device_begin = std::min(s.device_begin, work->ts_us);
        s.device_end = std::max(s.device_end, work->end_us());
        s.works++;
        matched_.insert(work);
      }
    }
  }

  void extend_steps() {
    if (matched_.empty()) return;
    double before = steps_[0].begin;
    if (steps_[0].device_begin != kNever)
      for (const PluginEvent* work : works_)
        if (!matched_.count(work) && work->end_us() < steps_[0].device_begin) before = std::max(before, work->end_us());
    for (PluginStep& s : steps_) {
      s.begin = std::max(before, s.begin);
      s.end = std::max({s.begin, s.end, s.works ? s.device_end : -kNever});
      before = s.end;
    }
  }

  void drop_last_steps() {
    if (matched_.empty() || steps_.size() < 2) return;
    size_t last = steps_.size();
    while (last > 0 && steps_[last - 1].works == 0) last--;
    if (last == 0) return;
    if (last > 1 && double(steps_[last - 2].works) * 0.8 > double(steps_[last - 1].works)) last--;
    if (last < steps_.size())
      out_.notes.push_back("the plugin leaves out the last " + std::to_string(steps_.size() - last) + " of " +
                           std::to_string(steps_.size()) + " steps");
    steps_.resize(last);
  }

  void add_up() {
    PluginRanges whole;
    for (const PluginStep& s : steps_) whole.push_back({s.begin, s.end});
    whole = merged(std::move(whole));
    PluginRanges slots, got[kCategories];
    for (u32 c = 0; c < kCategories - 1; c++) {
      if (slots.empty()) {  // at first; and again when nothing is left, which counts time twice
        got[c] = ranges_[c];
        slots = whole;
      } else {
        got[c] = common(slots, ranges_[c]);
      }
      slots = without(slots, got[c]);
    }
    got[kCategories - 1] = slots;
    for (const PluginStep& s : steps_) {
      StepTimes step{s.name, s.end - s.begin, {}};
      for (u32 c = 0; c < kCategories; c++) step.by[c] = length_of(common({{s.begin, s.end}}, got[c]));
      out_.steps.push_back(step);
    }
    out_.average = average_of(out_.steps);
    if (!(out_.average.us > 0)) throw Error(kExitUnreadable, "the plugin drops the file: all its steps are empty");
  }

  void summarise_gpus();
  double filled(const std::vector<const PluginEvent*>& kernels, PluginRange steps) const;

  const Model& model_;
  const PluginTrace& trace_;
  Overview out_;
  PluginRanges ranges_[kCategories - 1];
  std::vector<PluginStep> steps_;
  std::vector<const PluginEvent*> works_;
  std::unordered_set<const PluginEvent*> matched_;
  std::unordered_set<i64> communication_ids_;
  PluginTensorCores tensor_cores_;
};

double PluginView::filled(const std::vector<const PluginEvent*>& kernels, PluginRange steps) const {
  struct Edge {
    double at;
    int end;
    double blocks;
  };
  std::vector<Edge> edges;
  for (const PluginEvent* k : kernels) {
    double blocks = model_.gpu[k->item].blocks_per_sm;
    if (blocks <= 0) continue;
    edges.push_back({k->ts_us, 0, blocks});
    edges.push_back({k->end_us(), 1, blocks});
  }
  if (edges.empty()) return -1;
  std::stable_sort(edges.begin(), edges.end(),
                   [](const Edge& a, const Edge& b) { return std::pair(a.at, a.end) < std::pair(b.at, b.end); });
  double sum = 0, blocks = 0, at = edges[0].at;
  for (const Edge& edge : edges) {
    double begin = std::max(at, steps.begin), end = std::min(edge.at, steps.end);
    if (begin < end && blocks > 0) sum += (end - begin) * std::min(blocks, 1.0);
    blocks += edge.end ? -edge.blocks : edge.blocks;
    at = edge.at;
  }
  return sum > 0 ? sum / (steps.end - steps.begin) : -1;
}

void PluginView::summarise_gpus() {
  std::map<u32, std::vector<const PluginEvent*>> devices;
  for (const PluginEvent& e : trace_.events) {
    if (e.type != PluginType::kernel || e.device == kNone) continue;
    if (e.device >= kMostGpus)
      throw Error(kExitUnreadable, "the plugin drops the file: GPU " + std::to_string(e.device));
    devices[e.device].push_back(&e);
  }
  tensor_cores_ = plugin_tensor_cores(model_, trace_);
  PluginRange steps{steps_.front().begin, steps_.back().end};
  for (const auto& [device, kernels] : devices) {
    GpuFigures g;
    g.device = device;
    if (device < trace_.devices.size()) {
      const PluginDevice& d = trace_.devices[device];
      g.name = d.name;
      g.memory_bytes = double(d.memory_bytes.value_or(-1));
      g.compute_major = d.major.value_or(-1);
      g.compute_minor = d.minor.value_or(-1);
    }
    PluginRanges busy;
    double weighted = 0, weight = 0;
    for (const PluginEvent* k : kernels) {
      busy.push_back({k->ts_us, k->end_us()});
      double inside = std::min(k->end_us(), steps.end) - std::max(k->ts_us, steps.begin);
      double occupancy = model_.gpu[k->item].occupancy;
      if (occupancy < 0 || inside <= 0) continue;
      weighted += inside * occupancy;
      weight += inside;
    }
    g.utilization = length_of(common(merged(std::move(busy)), {steps})) / (steps.end - steps.begin);
    g.sm_efficiency = filled(kernels, steps);
    if (weight > 0) g.occupancy = weighted / weight;
    auto share = tensor_cores_.of_device.find(device);
    if (share != tensor_cores_.of_device.end())
      g.tensor_cores = share->second;
    else if (!tensor_cores_.of_device.empty())
      g.tensor_cores = 0;
    out_.gpus.push_back(g);
  }
}

}  // namespace

Overview plugin_overview(const Model& model, const PluginTrace& trace) {
  if (trace.is_list) throw Error(kExitUnreadable, "the plugin drops the file: a list of events, no object");
  return PluginView(model, trace).run();
}

}  // namespace tprof
