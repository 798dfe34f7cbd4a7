#include "plugin_compat/memory.h"

#include <cmath>
#include <unordered_map>

#include "model/plugin_trace.h"
#include "plugin_compat/memory_nodes.h"

namespace tprof {
namespace {

constexpr char kUnnamed[] = "<unknown>", kMalloc[] = "aten::empty";

// Events by address, in the order in which each address was first inserted, as in a Python dictionary.
class ByAddress {
 public:
  void put(u64 address, const PluginEvent* event) {
    auto [it, added] = position_.try_emplace(address, next_);
    next_ += added;
    events_[it->second] = event;
  }
  const PluginEvent* take(u64 address) {
    auto it = position_.find(address);
    if (it == position_.end()) return nullptr;
    auto node = events_.extract(it->second);
    position_.erase(it);
    return node.mapped();
  }
  const std::map<u64, const PluginEvent*>& in_order() const { return events_; }

 private:
  std::map<u64, u64> position_;  // by address
  std::map<u64, const PluginEvent*> events_;
  u64 next_ = 0;
};

class PluginMemoryReader {
 public:
  PluginMemoryReader(const Model& model, const PluginTrace& trace, const OpTree& tree, const MemoryRange& range)
      : model_(model), trace_(trace), tree_(tree), range_(range) {}

  PluginMemory run() {
    for (const PluginEvent& event : trace_.events) {
      if (event.type != PluginType::memory || event.item >= model_.memory.size()) continue;
      const MemoryEvent& m = of(&event);
      if (!m.address || m.device_type > kCudaDeviceType) continue;
      if (!(m.flags & kMemoryNoTotals))
        out_.curves[device(&event)].push_back({since_begin(&event), i64(m.total_allocated), i64(m.total_reserved)});
      note_release(event);
      if (!range_.holds(m.ns)) continue;
      if (m.bytes > 0)
        allocations_.put(m.address, &event);
      else if (const PluginEvent* begun = allocations_.take(m.address))
        add(begun, name_of(begun), -m.bytes, since_begin(begun), since_begin(&event));
      else
        releases_.put(m.address, &event);
    }
    for (const auto& [position, event] : allocations_.in_order())
      add(event, name_of(event), of(event).bytes, since_begin(event), {});
    for (const auto& [position, event] : releases_.in_order()) {
      auto begun = begun_.find(event);
      add(event, begun == begun_.end() ? kUnnamed : name_of(begun->second), -of(event).bytes, {}, since_begin(event));
    }
    return std::move(out_);
  }

 private:
  const MemoryEvent& of(const PluginEvent* event) const { return model_.memory[event->item]; }
  double since_begin(const PluginEvent* event) const { return event->ts_us - trace_.events.front().ts_us; }
  std::string device(const PluginEvent* event) const {
    return device_text({of(event).device_type, of(event).device_index});
  }
  void add(const PluginEvent* where, std::string op, i64 bytes, std::optional<double> begin,
           std::optional<double> end) {
    out_.rows[device(where)].push_back({std::move(op), bytes, begin, end});
  }

  // Remembers the allocation of each release, also from before the range: it names the release's operator.
  void note_release(const PluginEvent& event) {
    if (range_.is_all()) return;
    const MemoryEvent& m = of(&event);
    if (m.bytes > 0) {
      open_[m.address] = &event;
    } else if (auto begun = open_.find(m.address); begun != open_.end()) {
      begun_[&event] = begun->second;
      open_.erase(begun);
    }
  }

  std::string name_of(const PluginEvent* allocation) const {
    i32 node = tree_.of_memory[allocation->item];
    if (node < 0) return kUnnamed;
    const std::string& name = model_.names[tree_.nodes[size_t(node)].name];
    i32 parent = tree_.nodes[size_t(node)].parent;
    if (!name.starts_with(kMalloc) || parent < 0) return name;
    const OpNode& outer = tree_.nodes[size_t(parent)];
    return node_name(model_, outer) + " (" + name + ")";
  }

  const Model& model_;
  const PluginTrace& trace_;
  const OpTree& tree_;
  const MemoryRange& range_;
  ByAddress allocations_, releases_;
  std::unordered_map<u64, const PluginEvent*> open_;                  // by address
  std::unordered_map<const PluginEvent*, const PluginEvent*> begun_;  // by release: the allocation
  PluginMemory out_;
};

class PluginMemorySummer {
 public:
  PluginMemorySummer(const Model& model, const PluginTree& tree, i64 zero_ns, const MemoryRange& range)
      : model_(model), tree_(tree), zero_ns_(zero_ns), range_(range), inside_(children_of(tree)) {
    for (size_t i = 0; i < model.memory.size(); i++)
      if (tree.of_memory[i] >= 0) changes_[tree.of_memory[i]].push_back(u32(i));
  }

  std::vector<MemorySum> run() {
    for (size_t i = 0; i < tree_.nodes.size(); i++)
      if (tree_.nodes[i].parent < 0)
        for (u32 child : inside_[i]) visit(child);
    std::map<std::pair<std::string, std::string>, MemorySum> sorted;
    for (const auto& [node, by_device] : uses_)
      for (const auto& [device, use] : by_device) {
        if (!tree_.nodes[size_t(node)].listed) continue;
        std::string where = device_text(device), name = name_of(node);
        sorted.try_emplace({where, name}, MemorySum{where, name, calls_[name], {}}).first->second.use += use;
      }
    std::vector<MemorySum> out;
    for (auto& [key, sum] : sorted)
      if (sum.use.increase_bytes || sum.use.self_increase_bytes || sum.use.allocations) out.push_back(std::move(sum));
    return out;
  }

 private:
  using Uses = std::map<MemoryDevice, MemoryUse>;

  const std::string& name_of(i32 node) const { return model_.names[tree_.nodes[size_t(node)].name]; }

  void visit(u32 at) {
    const OpNode& node = tree_.nodes[at];
    if (zero_ns_ + node.end_ns < range_.begin_ns || zero_ns_ + node.begin_ns > range_.end_ns) return;
    i32 self = tree_.twin[at];
    if (node.listed) calls_[name_of(self)]++;
    if (!tree_.visited[size_t(self)]) return;
    if (node.listed) add_own(self);
    for (u32 child : inside_[at]) {
      visit(child);
      for (const auto& [device, use] : uses_[tree_.twin[child]]) add_total(uses_[self][device], use);
    }
  }

  static void add_total(MemoryUse& to, const MemoryUse& more) {
    to.increase_bytes += more.increase_bytes;
    to.allocated_bytes += more.allocated_bytes;
    to.allocations += more.allocations;
  }

  void add_own(i32 node) {
    Uses own;
    for (u32 i : changes_[node]) {
      const MemoryEvent& m = model_.memory[i];
      if (!range_.holds(m.ns) || m.device_type > kCudaDeviceType) continue;
      MemoryUse& use = own[{m.device_type, m.device_index}];
      i64 allocated = std::max<i64>(m.bytes, 0);
      use.increase_bytes += m.bytes;
      use.allocated_bytes += allocated;
      use.allocations += allocated > 0;
    }
    for (const auto& [device, use] : own) {
      MemoryUse& to = uses_[node][device];
      add_total(to, use);
      to.self_increase_bytes = use.increase_bytes;
      to.self_allocated_bytes = use.allocated_bytes;
      to.self_allocations = use.allocations;
    }
  }

  const Model& model_;
  const PluginTree& tree_;
  const i64 zero_ns_;
  const MemoryRange& range_;
  const std::vector<std::vector<u32>> inside_;
  std::map<i32, std::vector<u32>> changes_;  // by node
  std::map<i32, Uses> uses_;                 // by node, for twins the first of them
  std::map<std::string, u64> calls_;
};

}  // namespace

std::vector<MemorySum> plugin_memory_sums(const Model& model, const PluginTrace& trace, const PluginTree& tree,
                                          const MemoryRange& range) {
  return PluginMemorySummer(model, tree, plugin_zero_ns(trace), range).run();
}

PluginMemory plugin_memory(const Model& model, const PluginTrace& trace, const OpTree& tree, const MemoryRange& range) {
  return PluginMemoryReader(model, trace, tree, range).run();
}

i64 plugin_zero_ns(const PluginTrace& trace) {
  return trace.events.empty() ? 0 : std::llround(trace.events.front().ts_us * 1000);
}

MemoryRange plugin_range(const PluginTrace& trace, double begin_us, double end_us) {
  double zero = trace.events.empty() ? 0 : trace.events.front().ts_us;
  auto whole = [&](double us) { return 1000 * i64(std::floor(zero + us + 0.5)); };
  return {std::isfinite(begin_us) ? whole(begin_us) : INT64_MIN, std::isfinite(end_us) ? whole(end_us) : INT64_MAX};
}

}  // namespace tprof
