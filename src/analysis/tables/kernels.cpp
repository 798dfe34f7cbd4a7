#include "analysis/tables/kernels.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_map>

namespace tprof {
namespace {

// A mean weighted by duration, of what is known. By the plugin's rules what is not known counts as 0.
struct Mean {
  double sum = 0, weight = 0;
  bool any = false;

  void add(double value, i64 ns, RuleSet rules) {
    if (value < 0 && rules == RuleSet::tprof) return;
    any |= value >= 0;
    sum += std::max(value, 0.0) * double(ns);
    weight += double(ns);
  }
  double value() const { return !any ? -1 : weight > 0 ? sum / weight : 0; }
};

class KernelSums {
 public:
  KernelSums(const Model& model, RuleSet rules) : model_(model), rules_(rules), names_(model, rules) {
    for (const GpuEvent& work : model.gpu) {
      if (work.kind() != Kind::kernel) continue;
      out_.state_blocks |= work.blocks_per_sm > 0;
      out_.state_occupancy |= work.occupancy >= 0;
    }
  }

  // The row's number; `fresh` says whether it is to be named.
  template <class Key, class Index>
  std::pair<KernelRow*, bool> row(Index& index, const Key& key) {
    auto [it, added] = index.try_emplace(key, out_.rows.size());
    if (added) {
      out_.rows.emplace_back();
      blocks_.emplace_back();
      occupancy_.emplace_back();
    }
    at_ = it->second;
    return {&out_.rows[at_], added};
  }

  // To the row that was asked for last.
  void add(const GpuEvent& kernel, i64 ns) {
    KernelRow& row = out_.rows[at_];
    if (row.calls++ == 0) {
      row.name = model_.names[kernel.name];
      row.tensor_cores = names_.answer(kernel.name);
      row.min_ns = ns;
    }
    row.total_ns += ns;
    row.max_ns = std::max(row.max_ns, ns);
    row.min_ns = std::min(row.min_ns, ns);
    out_.total_ns += ns;
    if (row.tensor_cores == TensorCoreUse::yes) out_.tensor_ns += ns;
    if (row.tensor_cores == TensorCoreUse::unknown) out_.tensor_unknown_ns += ns;
    blocks_[at_].add(kernel.blocks_per_sm > 0 ? kernel.blocks_per_sm : -1, ns, rules_);
    occupancy_[at_].add(kernel.occupancy, ns, rules_);
  }

  Kernels finish() {
    for (size_t i = 0; i < out_.rows.size(); i++) {
      out_.rows[i].blocks_per_sm = blocks_[i].value();
      out_.rows[i].occupancy = occupancy_[i].value();
    }
    return std::move(out_);
  }

 private:
  const Model& model_;
  RuleSet rules_;
  TensorCoreNames names_;
  Kernels out_;
  std::vector<Mean> blocks_, occupancy_;
  size_t at_ = 0;
};

}  // namespace

Kernels kernels_by_name(const Model& model, RuleSet rules) {
  KernelSums sums(model, rules);
  std::unordered_map<u32, size_t> index;
  for (const GpuEvent& work : model.gpu) {
    if (work.kind() != Kind::kernel) continue;
    sums.row(index, work.name);
    sums.add(work, work.dur_ns);
  }
  return sums.finish();
}

Kernels kernels_by_op(const Model& model, const OpTree& tree) {
  using Key = std::tuple<u32, i64, std::array<i32, 6>, u32, u32>;
  KernelSums sums(model, tree.rules);
  std::map<Key, size_t> index;
  std::unordered_map<std::string, i64> plugin_names;  // what it calls nodes
  auto number_of = [&](const OpNode& op) {
    if (tree.rules == RuleSet::tprof) return i64(op.name);
    return plugin_names.try_emplace(node_name(model, op), i64(plugin_names.size())).first->second;
  };
  auto add = [&](const GpuEvent& work, i32 node, i64 ns) {
    const OpNode* op = node < 0 ? nullptr : &tree.nodes[size_t(node)];
    const auto& k = work.as<KernelInfo>();
    u32 shared = u32(k.static_shared) + u32(k.dynamic_shared);
    auto [row, fresh] = sums.row(index, Key{work.name,
                                            op ? number_of(*op) : -1,
                                            {k.grid[0], k.grid[1], k.grid[2], k.block[0], k.block[1], k.block[2]},
                                            k.registers,
                                            shared});
    if (fresh) {
      if (op) row->op = tree.rules == RuleSet::plugin ? node_name(model, *op) : model.names[op->name];
      // The plugin asks before it has looked at what lies inside the operator.
      row->op_eligible =
          op && (tree.rules == RuleSet::plugin ? op_is_tensor_core_eligible(row->op, tree.rules) : op->eligible);
      std::copy(k.grid, k.grid + 3, row->grid);
      std::copy(k.block, k.block + 3, row->block);
      row->registers = k.registers;
      row->shared_bytes = shared;
    }
    sums.add(work, ns);
  };
  if (tree.rules == RuleSet::plugin) {
    for (const OpTree::Launch& launch : tree.launches) {
      i32 named_by = tree.of_gpu[launch.gpu];
      add(model.gpu[launch.gpu], named_by < 0 ? launch.node : named_by, launch.ns);
    }
  } else {
    for (size_t i = 0; i < model.gpu.size(); i++)
      if (model.gpu[i].kind() == Kind::kernel) add(model.gpu[i], tree.of_gpu[i], model.gpu[i].dur_ns);
  }
  return sums.finish();
}

}  // namespace tprof
