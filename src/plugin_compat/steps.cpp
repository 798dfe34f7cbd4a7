#include "plugin_compat/steps.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "model/plugin_trace.h"
#include "plugin_compat/recommendations.h"

namespace tprof {
namespace {

constexpr char kProfilerSpan[] = "PyTorch Profiler (0)";

bool loads_data(std::string_view name) {
  return (name.starts_with("enumerate(DataLoader)#") && name.ends_with(".__next__")) ||
         name.starts_with("enumerate(DataPipe)#");
}

bool is_device_work(PluginType type) {
  return type == PluginType::kernel || type == PluginType::copy || type == PluginType::set;
}

class PluginStepFinder {
 public:
  PluginStepFinder(const Model& model, const PluginTrace& trace) : model_(model), trace_(trace) {}

  PluginSteps run() {
    find_communication();
    find_categories();
    find_span();
    find_steps();
    extend_steps();
    drop_last_steps();
    return std::move(out_);
  }

 private:
  const std::string& name(const PluginEvent& e) const { return model_.names[e.name]; }
  PluginRanges& ranges(Category c) { return out_.ranges[u32(c)]; }

  void find_communication() {
    for (const PluginEvent& e : trace_.events)
      if (is_plugin_node(e.type) && library_of(name(e)) != PluginLibrary::none)
        communication_ids_.insert(e.external_id);
  }

  void find_categories() {
    double first = kPluginNever, last = -kPluginNever;
    for (const PluginEvent& e : trace_.events) {
      PluginRange range{e.ts_us, e.end_us()};
      switch (e.type) {
        case PluginType::kernel:
          ranges(communication_ids_.count(e.external_id) ? Category::communication : Category::kernel).push_back(range);
          break;
        case PluginType::copy: ranges(Category::copy).push_back(range); break;
        case PluginType::set: ranges(Category::set).push_back(range); break;
        case PluginType::runtime: ranges(Category::runtime).push_back(range); break;
        case PluginType::step: steps_.push_back({range.begin, range.end, step_name(name(e))}); break;
        case PluginType::op:
        case PluginType::label:
        case PluginType::python:
          ranges(e.type != PluginType::python && loads_data(name(e)) ? Category::data_loading
                 : library_of(name(e)) != PluginLibrary::none        ? Category::communication
                                                                     : Category::cpu)
              .push_back(range);
          break;
        default: break;
      }
      if (e.type == PluginType::op || e.type == PluginType::python || e.type == PluginType::step) {
        first = std::min(first, range.begin);
        last = std::max(last, range.end);
      }
    }
    if (steps_.empty()) {
      if (first == kPluginNever)
        throw Error(Fault::unreadable, "has neither operators nor steps: the plugin's figures are meaningless");
      steps_.push_back({first, last, "0"});
    }
    for (PluginRanges& any : out_.ranges) any = merged(std::move(any));
  }

  void find_span() {
    PluginRange all = out_.span;
    for (const PluginEvent& e : trace_.events) {
      if (e.type == PluginType::memory) continue;
      all = {std::min(all.begin, e.ts_us), std::max(all.end, e.end_us())};
      if (e.type == PluginType::span && name(e) == kProfilerSpan) out_.span = {e.ts_us, e.end_us()};
    }
    if (out_.span.begin == kPluginNever) out_.span = all;
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
    throw Error(Fault::unreadable, "the plugin drops the file: '" + name + "' has no number");
  }

  // Which call launched what: by correlation, in order of time.
  struct Call {
    const PluginEvent* event;
    std::vector<const PluginEvent*> activities;
  };

  std::vector<Call> calls_by_begin() {
    std::unordered_map<i64, std::vector<const PluginEvent*>> waiting;
    std::unordered_map<i64, size_t> latest;
    std::vector<Call> calls;
    for (const PluginEvent& e : trace_.events) {
      if (is_device_work(e.type)) {
        works_.push_back(&e);
        auto call = latest.find(e.correlation);
        (call == latest.end() ? waiting[e.correlation] : calls[call->second].activities).push_back(&e);
      } else if (e.type == PluginType::runtime) {
        latest[e.correlation] = calls.size();
        calls.push_back({&e, std::move(waiting[e.correlation])});
        waiting.erase(e.correlation);
      }
    }
    return calls;  // the events are in order of time
  }

  // Assigns to each step the GPU work of the calls that lie completely inside it.
  void find_steps() {
    size_t step = 0;
    for (const Call& call : calls_by_begin()) {
      while (step < steps_.size() && call.event->ts_us >= steps_[step].begin &&
             call.event->end_us() > steps_[step].end && call.event->ts_us >= steps_[step].end)
        step++;
      if (step == steps_.size()) break;
      PluginStep& s = steps_[step];
      if (call.event->ts_us < s.begin || call.event->end_us() > s.end) continue;
      for (const PluginEvent* work : call.activities) {
        s.device_begin = std::min(s.device_begin, work->ts_us);
        s.device_end = std::max(s.device_end, work->end_us());
        s.activities++;
        matched_.insert(work);
      }
    }
  }

  void extend_steps() {
    if (matched_.empty()) return;
    double before = steps_[0].begin;
    if (steps_[0].device_begin != kPluginNever)
      for (const PluginEvent* work : works_)
        if (!matched_.count(work) && work->end_us() < steps_[0].device_begin) before = std::max(before, work->end_us());
    for (PluginStep& s : steps_) {
      s.begin = std::max(before, s.begin);
      s.end = std::max({s.begin, s.end, s.activities ? s.device_end : -kPluginNever});
      before = s.end;
    }
  }

  void drop_last_steps() {
    out_.all_steps = steps_.size();
    if (matched_.empty() || steps_.size() < 2) return;
    size_t last = steps_.size();
    while (last > 0 && steps_[last - 1].activities == 0) last--;
    if (last == 0) return;
    if (last > 1 && double(steps_[last - 2].activities) * 0.8 > double(steps_[last - 1].activities)) last--;
    steps_.resize(last);
  }

  const Model& model_;
  const PluginTrace& trace_;
  PluginSteps out_;
  std::vector<PluginStep>& steps_ = out_.steps;
  std::vector<const PluginEvent*> works_;
  std::unordered_set<const PluginEvent*> matched_;
  std::unordered_set<i64> communication_ids_;
};

}  // namespace

PluginSteps plugin_steps(const Model& model, const PluginTrace& trace) { return PluginStepFinder(model, trace).run(); }

}  // namespace tprof
