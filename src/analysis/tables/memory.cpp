#include "analysis/tables/memory.h"

#include <algorithm>
#include <unordered_map>

namespace tprof {
namespace {

MemoryDevice device_of(const MemoryEvent& event) { return {event.device_type, event.device_index}; }

std::vector<MemoryPoint> thinned(const std::vector<MemoryPoint>& points, size_t most) {
  size_t bins = std::max<size_t>(most / 2, 1);
  if (!most || points.size() <= most) return points;
  std::vector<MemoryPoint> out;
  for (size_t bin = 0; bin < bins; bin++) {
    auto from = points.begin() + i64(bin * points.size() / bins);
    auto to = points.begin() + i64((bin + 1) * points.size() / bins);
    auto highest = std::max_element(from, to, [](const MemoryPoint& a, const MemoryPoint& b) {
      return a.allocated_bytes < b.allocated_bytes;
    });
    out.push_back(*from);
    if (highest != from) out.push_back(*highest);
  }
  return out;
}

}  // namespace

std::vector<MemoryBlock> memory_blocks(const Model& model, const OpTree& tree) {
  std::vector<MemoryBlock> before, blocks;
  std::map<MemoryDevice, std::unordered_map<u64, size_t>> open;  // by address: index into blocks
  for (size_t i = 0; i < model.memory.size(); i++) {
    const MemoryEvent& event = model.memory[i];
    if (!event.address) continue;
    auto& of_device = open[device_of(event)];
    MemoryBlock block;
    block.device = device_of(event);
    block.address = event.address;
    block.event = u32(i);
    if (event.bytes > 0) {
      block.bytes = event.bytes;
      block.allocated_ns = event.ns;
      block.node = tree.of_memory[i];
      auto [at, is_new] = of_device.try_emplace(event.address, blocks.size());
      // The release of the block that was there has no record; it was at the latest now.
      if (!is_new) blocks[at->second].released_ns = event.ns;
      at->second = blocks.size();
      blocks.push_back(block);
    } else if (auto it = of_device.find(event.address); it != of_device.end()) {
      blocks[it->second].released_ns = event.ns;
      of_device.erase(it);
    } else {
      block.bytes = -event.bytes;
      block.released_ns = event.ns;
      before.push_back(block);
    }
  }
  before.insert(before.end(), blocks.begin(), blocks.end());
  return before;
}

OpTree part_of(const Model& model, OpTree tree, const MemoryRange& range) {
  if (range.is_all()) return tree;
  for (OpNode& node : tree.nodes) node.listed &= node.end_ns >= range.begin_ns && node.begin_ns <= range.end_ns;
  for (size_t i = 0; i < model.memory.size(); i++)
    if (!range.holds(model.memory[i].ns)) tree.of_memory[i] = -1;
  return tree;
}

std::vector<MemorySum> memory_sums(const Model& model, const OpTree& tree) {
  std::map<std::pair<std::string, std::string>, MemorySum> sorted;
  for (const OperatorRow& op : operators(model, tree, OperatorKey::name).rows)
    for (const auto& [device, use] : op.memory) {
      std::string where = device_text(device);
      MemorySum& sum = sorted.try_emplace({where, op.name}, MemorySum{where, op.name, 0, {}}).first->second;
      sum.calls += op.calls;
      sum.use += use;
    }
  std::vector<MemorySum> sums;
  for (auto& [key, sum] : sorted) sums.push_back(std::move(sum));
  return sums;
}

u32 stack_of(const Model& model, const OpTree& tree, const MemoryBlock& block) {
  if (block.allocated_ns == MemoryBlock::kUnseen) return 0;
  if (u32 own = model.memory[block.event].stack) return own;
  u32 event = block.node < 0 ? kNone : tree.nodes[size_t(block.node)].event;
  return event == kNone ? 0 : model.events[event].stack;
}

std::map<MemoryDevice, MemoryCurve> memory_curves(const Model& model, size_t most) {
  std::map<MemoryDevice, MemoryCurve> curves;
  for (const MemoryEvent& event : model.memory) {
    if (!event.address || event.flags & kMemoryNoTotals) continue;
    MemoryCurve& curve = curves[device_of(event)];
    MemoryPoint point{event.ns, i64(event.total_allocated), i64(event.total_reserved)};
    if (curve.points.empty() || point.allocated_bytes > curve.peak.allocated_bytes) curve.peak = point;
    curve.points.push_back(point);
  }
  for (auto& [device, curve] : curves) curve.points = thinned(curve.points, most);
  return curves;
}

}  // namespace tprof
