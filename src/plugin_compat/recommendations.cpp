#include "plugin_compat/recommendations.h"

#include <math.h>

#include <algorithm>
#include <set>

#include "base/error.h"

namespace tprof {
namespace {

class Recommender {
 public:
  Recommender(const Model& model, const PluginTrace& trace, const Overview& overview)
      : model_(model), trace_(trace), overview_(overview) {}

  std::vector<Recommendation> run(const PluginTensorCores* tensor_cores) {
    double loading = share(Category::data_loading);
    if (loading > 0.05)
      add("data_loading", "loading data takes much of the step; more DataLoader workers (num_workers) may help",
          {{"percent_of_step", 100 * loading}});
    look_at_distribution();
    for (const GpuFigures& g : overview_.gpus) {
      if (g.utilization >= 0.5) continue;
      add("low_utilization", "a GPU is idle more than half of the time; a larger batch may help",
          {{"gpu", g.device}, {"percent", 100 * g.utilization}});
      break;  // one line for all of them
    }
    if (trace_.devices.empty()) return std::move(out_);
    if (tensor_cores && trace_.devices[0].major.value_or(0) >= 7 && tensor_cores->of_kernels == 0 &&
        tensor_cores->eligible > 0)
      add("tensor_cores", "operators that could use tensor cores do not; automatic mixed precision may help",
          {{"percent_of_kernel_time", rint(100 * tensor_cores->eligible)}});
    look_at_memory();
    return std::move(out_);
  }

 private:
  double share(Category c) const { return overview_.average.by[u32(c)] / overview_.average.us; }
  void add(const char* id, const std::string& text, std::vector<std::pair<const char*, double>> values) {
    out_.push_back({id, text, std::move(values)});
  }

  void look_at_distribution() {
    bool data_parallel = false, distributed = false, nccl = false;
    std::set<i64> gpus;
    for (const PluginEvent& e : trace_.events) {
      if (e.type == PluginType::kernel || e.type == PluginType::copy || e.type == PluginType::set) gpus.insert(e.pid);
      if (!is_plugin_node(e.type)) continue;
      const std::string& name = model_.names[e.name];
      data_parallel |= name == "DataParallel.forward";
      distributed |= name == "DistributedDataParallel.forward";
      nccl |= library_of(name) == PluginLibrary::nccl;
    }
    if (data_parallel && gpus.size() > 1)
      add("data_parallel", "DataParallel drives several GPUs; DistributedDataParallel is faster",
          {{"gpus", double(gpus.size())}});
    if (distributed && !nccl && std::any_of(trace_.devices.begin(), trace_.devices.end(), serves_nccl))
      add("nccl", "DistributedDataParallel runs without NCCL, its fastest backend on these GPUs", {});
    double communication = share(Category::communication);
    if (communication > 0.1)
      add("communication",
          "communication takes much of the step; compressed or accumulated gradients or a larger batch may help",
          {{"percent_of_step", 100 * communication}});
  }

  static bool serves_nccl(const PluginDevice& d) {
    return d.major && d.minor && std::stod(std::to_string(*d.major) + "." + std::to_string(*d.minor)) >= 3.5;
  }

  void look_at_memory() {
    std::vector<std::pair<std::pair<u8, i8>, u64>> peaks;  // (type, index) -> total, in order of appearance
    for (const PluginEvent& e : trace_.events) {
      if (e.type != PluginType::memory) continue;
      const MemoryEvent& m = model_.memory[e.item];
      if (m.flags & kMemoryNoTotals) continue;
      std::pair key(m.device_type, m.device_index);
      auto it = std::find_if(peaks.begin(), peaks.end(), [&](const auto& p) { return p.first == key; });
      if (it == peaks.end()) it = peaks.insert(it, {key, 0});
      it->second = std::max(it->second, m.total_allocated);
    }
    for (const auto& [key, peak] : peaks) {
      i64 index = key.second;
      // The plugin tries to exclude the CPU and fails: its index -1 denotes the last GPU.
      if (index < 0) index += i64(trace_.devices.size());
      if (index < 0 || index >= i64(trace_.devices.size()))
        throw Error(Fault::unreadable,
                    "the plugin drops the file: it has memory events of a device without properties");
      std::optional<i64> total = trace_.devices[size_t(index)].memory_bytes;
      if (!total || double(peak) <= double(*total) * 0.9) continue;
      add("memory", "device memory is nearly full; gradient checkpointing or mixed precision may help",
          {{"gpu", key.second}, {"percent", 100 * double(peak) / double(*total)}});
      return;
    }
  }

  const Model& model_;
  const PluginTrace& trace_;
  const Overview& overview_;
  std::vector<Recommendation> out_;
};

}  // namespace

PluginLibrary library_of(std::string_view name) {
  static constexpr std::string_view kOps[] = {"broadcast", "reduce", "all_reduce", "all_gather", "reduce_scatter"};
  size_t colon = name.find(':');
  if (colon == name.npos || std::find(std::begin(kOps), std::end(kOps), name.substr(colon + 1)) == std::end(kOps))
    return PluginLibrary::none;
  std::string_view library = name.substr(0, colon);
  return library == "nccl" ? PluginLibrary::nccl : library == "gloo" ? PluginLibrary::gloo : PluginLibrary::none;
}

bool is_plugin_node(PluginType type) {
  return type == PluginType::op || type == PluginType::label || type == PluginType::python ||
         type == PluginType::step || type == PluginType::module;
}

std::vector<Recommendation> plugin_recommendations(const Model& model, const PluginTrace& trace,
                                                   const Overview& overview, const PluginTensorCores* tensor_cores) {
  return Recommender(model, trace, overview).run(tensor_cores);
}

}  // namespace tprof
