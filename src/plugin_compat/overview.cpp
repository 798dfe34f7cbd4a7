// The Overview by torch_tb_profiler 0.4.3's own rules, including its mistakes: what --plugin-compat shows.
//
// It differs from tprof's in what counts as a step (annotations of GPUs too), what communicates (by External id) and
// what it ignores (driver calls). It also sums differently: once the categories so far fill the steps completely, it
// starts again with whole steps for the next category, so that sums exceed the step.
#include "plugin_compat/overview.h"
#include "base/error.h"
#include "model/plugin_trace.h"
#include "plugin_compat/gpus.h"
#include "plugin_compat/recommendations.h"

namespace tprof {
namespace {

class PluginView {
 public:
  PluginView(const Model& model, const PluginTrace& trace)
      : model_(model), trace_(trace), steps_(plugin_steps(model, trace)) {}

  Overview run() {
    auto has = [&](Category c) { return !steps_.of(c).empty(); };
    out_.rules = RuleSet::plugin;
    out_.communicates = has(Category::communication);
    out_.uses_gpu = has(Category::runtime) || has(Category::kernel) || has(Category::copy) || has(Category::set);
    if (steps_.steps.size() < steps_.all_steps)
      out_.notes.push_back("the plugin leaves out the last " + std::to_string(steps_.all_steps - steps_.steps.size()) +
                           " of " + std::to_string(steps_.all_steps) + " steps");
    add_up();
    PluginTensorCores tensor_cores = plugin_tensor_cores(model_, trace_);
    out_.gpus = plugin_gpu_figures(model_, trace_, steps_, tensor_cores);
    bool has_kernels = has(Category::kernel);
    out_.recommendations = plugin_recommendations(model_, trace_, out_, has_kernels ? &tensor_cores : nullptr);
    return std::move(out_);
  }

 private:
  void add_up() {
    PluginRanges whole;
    for (const PluginStep& s : steps_.steps) whole.push_back({s.begin, s.end});
    whole = merged(std::move(whole));
    PluginRanges slots, got[kCategories];
    for (u32 c = 0; c < kCategories - 1; c++) {
      if (slots.empty()) {  // at first; and again when nothing is left, which counts time twice
        got[c] = steps_.ranges[c];
        slots = whole;
      } else {
        got[c] = common(slots, steps_.ranges[c]);
      }
      slots = without(slots, got[c]);
    }
    got[kCategories - 1] = slots;
    for (const PluginStep& s : steps_.steps) {
      StepTimes step{s.name, s.end - s.begin, {}};
      for (u32 c = 0; c < kCategories; c++) step.by[c] = length_of(common({{s.begin, s.end}}, got[c]));
      out_.steps.push_back(step);
    }
    out_.average = average_of(out_.steps);
    if (!(out_.average.us > 0)) throw Error(Fault::unreadable, "the plugin drops the file: all its steps are empty");
  }

  const Model& model_;
  const PluginTrace& trace_;
  const PluginSteps steps_;
  Overview out_;
};

}  // namespace

Overview plugin_overview(const Model& model, const PluginTrace& trace) {
  if (trace.is_list) throw Error(Fault::unreadable, "the plugin drops the file: a list of events, no object");
  return PluginView(model, trace).run();
}

}  // namespace tprof
