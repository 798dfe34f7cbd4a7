#include "stats_words.h"

#include <cmath>

#include "analysis/basis/windows.h"
#include "input/jobs.h"
#include "plugin_compat/tree.h"
#include "report/call_tables.h"
#include "report/communication.h"
#include "report/distributed_tables.h"
#include "report/flame_tables.h"
#include "report/flops_table.h"
#include "report/gpu_series_tables.h"
#include "report/gpu_tables.h"
#include "report/job_tables.h"
#include "report/loader_tables.h"
#include "report/peak_tables.h"
#include "report/python_tables.h"
#include "report/stats_tables.h"
#include "report/track_tables.h"

namespace tprof {
namespace {

using Subject = StatsSubject;
using Answer = StatsAnswer;

template <OperatorKey key>
Answer by_operator(const Subject& s) {
  return {operators_table(s.model, operators(s.model, s.tree(), key, s.stack_depth), key, s.rules), {}};
}

Answer by_tree(const Subject& s) { return {call_tree_table(s.model, call_tree(s.model, s.tree_with_python())), {}}; }

Answer by_flame(const Subject& s) {
  std::vector<FlameTree> trees = flame_trees(s.flame_input());
  Answer out{flame_sources_table(trees), {}};
  for (const FlameTree& tree : trees) out.more.push_back({flame_source_word(tree.source), flame_table(s.model, tree)});
  return out;
}

Answer by_python(const Subject& s) {
  PythonSamples samples = python_samples(s.model, s.classes(), s.windows());
  Answer out{python_functions_table(s.model, samples), {}};
  if (!samples.lines.empty()) out.more.push_back({"lines", python_lines_table(s.model, samples)});
  if (!samples.natives.empty()) out.more.push_back({"natives", native_functions_table(s.model, samples)});
  if (!samples.threads.empty()) out.more.push_back({"threads", python_threads_table(s.model, samples)});
  return out;
}

Answer by_line(const Subject& s) { return {lines_table(s.model, line_costs(s.model, s.tree_with_python())), {}}; }

Answer by_kernel(const Subject& s) { return {kernels_table(kernels_by_name(s.model, s.rules), false, s.rules), {}}; }
Answer by_kernel_and_op(const Subject& s) {
  return {kernels_table(kernels_by_op(s.model, s.tree()), true, s.rules), {}};
}

Answer by_module(const Subject& s) {
  if (s.rules == RuleSet::plugin) return {plugin_modules_table(plugin_modules(s.model, s.plugin, s.tree())), {}};
  ModuleTree modules = module_tree(s.model, s.tree());
  Answer out{modules_table(modules, s.has_device()), {}};
  if (!modules.places.empty()) out.more.push_back({"classes", module_classes_table(s.model, modules, s.has_device())});
  return out;
}

Answer by_lightning(const Subject& s) {
  std::vector<PluginModule> modules = lightning_modules(s.model, s.tree());
  return {s.rules == RuleSet::plugin ? plugin_modules_table(modules) : lightning_table(modules, s.has_device()), {}};
}

Answer by_timeline(const Subject& s) {
  if (s.rules == RuleSet::tprof)
    return {timeline_table(timeline(s.model, s.tree_with_python()), first_moment(s.model)), {}};
  bool of_lightning = s.plugin.lightning;
  return {timeline_table(timeline(s.model, of_lightning ? build_lightning_tree(s.model, s.plugin) : s.tree()), 0), {}};
}

i64 moment_ns(const Subject& s, double us) { return s.model.begin_ns + whole_ns(us); }

MemoryRange memory_range(const Subject& s) {
  const StatsTimes& t = s.times;
  if (s.rules == RuleSet::plugin) return plugin_range(s.plugin, t.begin_us, t.end_us);
  return {std::isfinite(t.begin_us) ? moment_ns(s, t.begin_us) : INT64_MIN,
          std::isfinite(t.end_us) ? moment_ns(s, t.end_us) : INT64_MAX};
}

std::string range_text(const StatsTimes& t) {
  std::string out = "Only what was allocated and released";
  if (std::isfinite(t.begin_us)) out += " from " + time_text(whole_ns(t.begin_us));
  if (std::isfinite(t.end_us)) out += " until " + time_text(whole_ns(t.end_us));
  return out + " after the start; calls are those that overlap it";
}

Answer by_memory(const Subject& s) {
  const OpTree& tree = s.tree();
  MemoryRange range = memory_range(s);
  Answer out{memory_table(s.model, tree,
                          s.rules == RuleSet::plugin ? plugin_memory_sums(s.model, s.plugin, s.plugin_tree(), range)
                                                     : memory_sums(s.model, part_of(s.model, tree, range))),
             {}};
  if (!range.is_all()) out.table.footer.insert(out.table.footer.begin(), range_text(s.times));
  if (s.times.at_us)
    out.more.push_back({"alive", memory_alive_table(s.model, tree, moment_ns(s, *s.times.at_us), s.stack_depth)});
  return out;
}

Json memory_json(const Subject& s, const TableJson& tables) {
  const OpTree& tree = s.tree();
  if (s.rules == RuleSet::plugin) {
    PluginMemory memory = plugin_memory(s.model, s.plugin, tree, memory_range(s));
    return {{"events", tables(plugin_memory_events_table(memory))}, {"curve", plugin_memory_curves_json(memory)}};
  }
  MemoryTree parts = memory_tree(s.model, tree);
  return {{"events", tables(memory_events_table(s.model, tree, memory_range(s)))},
          {"nodes", tables(parts.nodes)},
          {"changes", tables(parts.changes)},
          {"stacks", tables(memory_stacks_table(s.model, tree, s.stack_depth))},
          {"curve", memory_curves_json(s.model)}};
}

Answer by_peak(const Subject& s) {
  const std::vector<MemoryPeak>& peaks = s.peaks();
  Answer out{peak_table(s.model, peaks, s.stack_depth), {}};
  if (Table leaks = leaks_table(s.model, peaks, s.stack_depth); !leaks.rows.empty())
    out.more.push_back({"leaks", std::move(leaks)});
  return out;
}

constexpr size_t kMatrixRanks = 64;  // a matrix of more has too many rows to be read

Answer by_communication(const Job& job) {
  DistributedView view = job.view();
  if (view.rules == RuleSet::plugin)
    return {rank_operations_table(view), {{"steps", rank_steps_table(view)}, {"nodes", nodes_table(view)}}};
  Answer out{communication_table(job.found), {}};
  out.more.push_back({"ranks", ranks_table(job.found, job.ranks)});
  out.more.push_back({"steps", rank_steps_table(view)});
  if (!view.operations.empty()) out.more.push_back({"operations", rank_operations_table(view)});
  if (job.found.compared) out.more.push_back({"stages", stages_table(job.found, job.ranks)});
  if (JobPath path = job_path(job.ranks); path.steps) out.more.push_back({"path", job_path_table(path, job.ranks)});
  if (job.ranks.size() > 1 && job.ranks.size() <= kMatrixRanks)
    out.more.push_back({"matrix", matrix_table(communication_matrix(job.ranks))});
  out.more.push_back({"nodes", nodes_table(view)});
  return out;
}

Answer by_utilization(const Subject& s) {
  if (s.rules == RuleSet::tprof) return {gpu_series_table(s.model), {}};
  std::vector<PluginGpuSeries> series = plugin_gpu_series(s.model, s.plugin, plugin_steps(s.model, s.plugin));
  return {plugin_utilization_table(s.plugin, series),
          {{"sm_efficiency", plugin_sm_efficiency_table(s.plugin, series)}}};
}

Answer by_exposed(const Subject& s) {
  return {exposed_table(exposed(s.model, s.classes(), s.windows()), s.windows()), {}};
}

Answer by_idle(const Subject& s) {
  const std::vector<IdleLane>& lanes = s.lanes();
  Answer out{idle_table(lanes), {}};
  if (!lanes.empty()) out.more.push_back({"reasons", idle_reasons_table(s.model, lanes)});
  return out;
}

Answer by_launch(const Subject& s) {
  const Launches& found = s.launches();
  Answer out{launches_table(found), {}};
  if (!found.slowest_calls.empty()) out.more.push_back({"slow_calls", slow_calls_table(s.model, s.waits(), found)});
  if (!found.most_delayed.empty()) out.more.push_back({"delayed_work", delayed_work_table(s.model, found)});
  return out;
}

Answer by_queue(const Subject& s) { return {queues_table(s.launches()), {}}; }
Answer by_copy(const Subject& s) { return {copies_table(copies(s.model, s.windows())), {}}; }

Answer by_flops(const Subject& s) {
  const Flops& found = s.flops();
  Answer out{flops_table(s.model, found), {}};
  out.more.push_back({"coverage", flops_coverage_table(found)});
  if (!found.missing.empty()) out.more.push_back({"without_flops", flops_missing_table(s.model, found)});
  return out;
}

Answer by_loader(const Subject& s) {
  std::vector<LoaderUse> uses = loader_uses(s.model, s.windows());
  Answer out{loaders_table(uses), {}};
  if (!uses.empty()) out.more.push_back({"waits", loader_waits_table(uses)});
  return out;
}

Answer by_critical_path(const Subject& s) {
  if (s.model.empty()) return {{"Critical path by kind", {}, {}, {"nothing was recorded"}}, {}};
  CriticalPaths paths(s.model, s.classes(), s.timelines());
  std::vector<CriticalPath> steps;
  for (const Interval& step : s.windows().steps) steps.push_back(paths.of(step));
  return {critical_path_table(s.model, steps), {{"links", path_links_table(s.model, steps)}}};
}

Answer by_track(const Subject& s) {
  Answer out{tracks_table(s.model, s.tracks()), {}};
  out.more.push_back({"flows", flows_table(s.tracks())});
  if (!s.counters().empty()) out.more.push_back({"counters", counters_table(s.counters())});
  return out;
}

Answer by_slice(const Subject& s) {
  SliceRange range;
  if (std::isfinite(s.times.begin_us)) range.begin_ns = moment_ns(s, s.times.begin_us);
  if (std::isfinite(s.times.end_us)) range.end_ns = moment_ns(s, s.times.end_us);
  return {slices_table(s.model, s.tracks(), slice_sums(s.model, s.tracks(), range)), {}};
}

}  // namespace

const OpTree& StatsSubject::tree() const {
  if (rules == RuleSet::plugin) return plugin_tree();
  return tree_.get([&] { return build_op_tree(model); });
}
const PluginTree& StatsSubject::plugin_tree() const {
  return plugin_tree_.get([&] { return build_plugin_tree(model, plugin); });
}
const OpTree& StatsSubject::tree_with_python() const {
  return tree_with_python_.get([&] { return build_op_tree(model, PythonNodes::all); });
}
const NameClasses& StatsSubject::classes() const {
  return facts_ ? facts_->classes : classes_.get([&] { return NameClasses(model); });
}
const Waits& StatsSubject::waits() const {
  return facts_ ? facts_->waits : waits_.get([&] { return Waits(model, classes()); });
}
const Windows& StatsSubject::windows() const {
  return facts_ ? facts_->windows : windows_.get([&] { return windows_of(model); });
}
const Launches& StatsSubject::launches() const {
  return facts_ ? facts_->launches : launches_.get([&] { return tprof::launches(model, windows(), waits()); });
}
const std::vector<IdleLane>& StatsSubject::lanes() const {
  return facts_ ? facts_->lanes : lanes_.get([&] { return idle(model, windows(), timelines()); });
}
const Flops& StatsSubject::flops() const {
  return facts_ ? facts_->flops : flops_.get([&] { return tprof::flops(model, windows(), devices); });
}
const std::vector<MemoryPeak>& StatsSubject::peaks() const {
  return facts_ ? facts_->memory : peaks_.get([&] { return memory_peaks(model, windows()); });
}
FlameInput StatsSubject::flame_input() const { return {model, tree(), tree_with_python(), windows(), lanes()}; }
HostTimelines& StatsSubject::timelines() const {
  return timelines_.get([&] { return HostTimelines(model, classes(), waits()); });
}

const Tracks& StatsSubject::tracks() const {
  return tracks_.get([&] { return tracks_of(model); });
}
const std::vector<Counter>& StatsSubject::counters() const {
  return counters_.get([&] { return counters_of(model, launches()); });
}

const std::vector<StatsWord>& stats_words() {
  static const char *const kDevice = "device_self_duration", *const kHost = "host_self_duration";
  static const std::vector<StatsWord> kWords = {
      {"op", "operators, as torch.profiler's key_averages()", kDevice, kHost, true, by_operator<OperatorKey::name>},
      {"op+shape", "operators by the shapes of their inputs", kDevice, kHost, true, by_operator<OperatorKey::shape>},
      {"op+stack", "operators by call stack", kDevice, kHost, true, by_operator<OperatorKey::stack>},
      {"op+shape+stack", "operators by shapes and call stack, as the plugin's View CallStack", kDevice, kHost, true,
       by_operator<OperatorKey::shape_stack>},
      {"tree", "who called whom, by thread, with the backward of each call", "device_total_duration",
       "host_total_duration", false, by_tree},
      {"line", "source lines, with the backward of what they called", "device_total_duration", "host_total_duration",
       false, by_line},
      {"python", "Python functions and lines, from samples (--sample python)", "", "", false, by_python},
      {"flame", "flame graphs: samples, Python, modules, operators, GPU work by what launched it", "", "", false,
       by_flame},
      {"kernel", "kernels", "total_duration", "", true, by_kernel},
      {"kernel+op", "kernels by operator and launch", "total_duration", "", true, by_kernel_and_op},
      {"module", "nn.Modules, forward and backward", "", "", true, by_module},
      {"lightning", "modules of PyTorch Lightning's profiler", "", "", true, by_lightning},
      {"timeline", "the main thread's ranges in order of time", "", "", true, by_timeline},
      {"memory", "memory by operator", "self_size_increase", "", true, by_memory, nullptr, memory_json, true},
      {"peak", "what was alive at the memory's peak; leaks, fragmentation", "", "", false, by_peak},
      {"flops", "FLOPs, TFLOP/s, share of the roof, MFU, and what part of the time they are of", "", "", false,
       by_flops},
      {"exposed", "each step of a GPU: computation, exposed communication and copies, idle", "", "", false, by_exposed},
      {"idle", "why GPUs were idle, and what the host did then", "", "", false, by_idle},
      {"launch", "launch delay, short kernels, slow calls", "", "", false, by_launch},
      {"queue", "launched and not yet started, by stream", "", "", false, by_queue},
      {"copy", "copies by kind and host memory, bandwidth", "", "", false, by_copy},
      {"loader", "workers of DataLoaders: fetch, send and idle times beside the program's wait", "", "", false,
       by_loader},
      {"critical-path", "what the steps could not have been shorter than", "time", "", false, by_critical_path},
      {"comm", "collectives over all ranks of a run: transfer, waiting, bandwidth", "total_latency", "", true, nullptr,
       by_communication},
      {"utilization", "how busy each GPU was over time, as the plugin's counters", "", "", true, by_utilization},
      {"track", "threads, streams and their slices in the timeline", "", "", false, by_track},
      {"slice", "slices of the timeline by track and name", "", "", false, by_slice, nullptr, nullptr, true, false},
  };
  return kWords;
}

std::string sort_by_default(const StatsWord& word, Table& table) {
  for (const char* key : {word.sort, word.sort_without})
    if (int column = table.column(key); column >= 0) return sort_rows(table, static_cast<size_t>(column)), key;
  return "";
}

Json stats_json(const Source& source, const StatsAnswer& answer, const std::string& sorted_by,
                const TableJson& tables) {
  Json out = json_of(source);
  out["sort"] = sorted_by.empty() ? Json() : Json(sorted_by);
  out.update(tables(answer.table));
  for (const auto& [key, table] : answer.more) out[key] = tables(table);
  return out;
}

}  // namespace tprof
