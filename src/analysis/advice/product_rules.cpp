// Rules of advice about large computations: matrix products, convolutions, attention.
#include <set>

#include "analysis/advice/operator_search.h"
#include "analysis/advice/rule.h"
#include "analysis/basis/tensor_cores.h"
#include "analysis/basis/tensors.h"

namespace tprof::rules {
namespace {

constexpr double kGoodRoof = 0.30;  // share of the roof that an operator should reach
constexpr double kLargeOp = 0.02;   // share of the step from which on an operator is looked at

// Attention that is written out: a product, a softmax over its result, and a product with that, with at most a few
// operators (scale, mask, dropout, casts) between them.
struct Attention {
  u32 softmax;
  std::vector<u32> ops;  // from the first product to the second
};
std::vector<Attention> written_out_attentions(const Facts& facts) {
  constexpr size_t kBetween = 8;
  std::vector<Attention> out;
  auto is = [&](u32 event, NameClass name_class) { return facts.classes.is(facts.model.events[event], name_class); };
  for (const std::vector<u32>& list : siblings_of(facts.model)) {
    if (list.empty() || is_below_operator(facts.model, list[0])) continue;
    for (size_t k = 0; k < list.size(); k++) {
      if (!is(list[k], NameClass::softmax) || !facts.inside(facts.model.events[list[k]].begin_ns)) continue;
      size_t first = k, last = k;
      while (first > 0 && k - first < kBetween && !is(list[first], NameClass::multiplies)) first--;
      while (last + 1 < list.size() && last - k < kBetween && !is(list[last], NameClass::multiplies)) last++;
      if (!is(list[first], NameClass::multiplies) || !is(list[last], NameClass::multiplies)) continue;
      out.push_back({list[k], {list.begin() + i64(first), list.begin() + i64(last) + 1}});
    }
  }
  return out;
}

// By event: whether it is part of an attention that is written out.
std::vector<bool> in_attention(const Facts& facts) {
  std::vector<bool> out(facts.model.events.size());
  for (const Attention& one : written_out_attentions(facts))
    for (u32 op : one.ops) out[op] = true;
  for (size_t i = 0; i < out.size(); i++)  // parents stand before their children
    if (i32 parent = facts.model.events[i].parent; parent >= 0 && out[size_t(parent)]) out[i] = true;
  return out;
}

// The name and inputs of an operator: operators that share them share a row of Flops.
std::string kind_of(const Event& e) { return std::to_string(e.name) + ' ' + std::string(e.encoded_inputs()); }

// Whether any of its inputs has half precision.
bool in_half(const Event& e) {
  for (const OpInput& input : inputs_of(e))
    if (input.tensor.defined && is_half(input.tensor.dtype)) return true;
  return false;
}

// In [M, K] x [K, N]: whether a matrix has a leading dimension that is not a multiple of 8, so that not all of its rows
// (columns, if it is stored by columns) begin on 16 bytes, which tensor cores read at once. An odd batch x sequence
// alone does no harm: it is not a leading dimension. Where strides are not known, two of the three sizes must be odd:
// then one of them is a leading dimension, however the matrices are stored.
bool is_misaligned(const TensorInput& a, const TensorInput& b) {
  auto leading_is_odd = [](const TensorInput& t) {
    size_t n = t.strides.size();
    i64 leading = std::max(t.strides[n - 1], t.strides[n - 2]);
    return leading > 1 && leading % 8;
  };
  bool known = a.strides.size() == a.sizes.size() && b.strides.size() == b.sizes.size();
  bool output_is_odd = b.size(0) % 8;  // written by rows
  if (known) return leading_is_odd(a) || leading_is_odd(b) || output_is_odd;
  return (a.size(1) % 8 != 0) + (a.size(0) % 8 != 0) + (b.size(0) % 8 != 0) >= 2;
}

}  // namespace

// The plugin's rule: compute capability 7.0, no kernel that uses tensor cores, and kernels that could. Kernels that
// compute in half precision already do not count. Saving half of that time is a cautious estimate: data sheets promise
// a factor of four to eight for half precision.
std::optional<Match> no_tensor_cores(const Facts& facts) {
  if (!facts.device || facts.device->compute_major < 7) return {};
  TensorCoreNames names(facts.model, RuleSet::tprof);
  Heaviest heaviest(Evidence::Kind::gpu_work);
  Cost cost(facts);
  for (u32 i = 0; i < facts.model.gpu.size(); i++) {
    const GpuEvent& work = facts.model.gpu[i];
    if (work.kind() != Kind::kernel || !facts.inside(work.begin_ns)) continue;
    if (names.answer(work.name) != TensorCoreUse::no) return {};
    i32 op = work.op;
    while (op >= 0 && !names.op(facts.model.events[op].name)) op = facts.model.events[op].parent;
    bool by_name = facts.classes.is(work.name, NameClass::fp32_matmul_kernel);  // a kernel of a graph has no operator
    if (op < 0 ? !by_name : in_half(facts.model.events[op])) continue;
    cost.gpu_work(i);
    heaviest.add(work.dur_ns, i);
  }
  double share = facts.share(double(cost.ns()));
  return Match{share,
               share,
               facts.windows.per_step(cost.ns()) / 2,
               "No kernel uses tensor cores; each step waits " + ms(facts.windows.per_step(cost.ns())) +
                   " for matrix products and convolutions that could use them.",
               heaviest.take(),
               (facts.trains ? "Train in mixed precision: " : "Compute in half precision: ") +
                   std::string(facts.device->compute_major < 8 ? "torch.autocast with float16 (bfloat16 has no tensor "
                                                                 "cores before compute capability 8.0)."
                                                               : "torch.autocast with bfloat16 or float16.")};
}

// From compute capability 8.0 on, TF32 is at least twice as fast.
std::optional<Match> fp32_products(const Facts& facts) {
  if (!facts.device || facts.device->compute_major < 8) return {};
  TensorCoreNames names(facts.model, RuleSet::tprof);
  Heaviest heaviest(Evidence::Kind::gpu_work);
  Cost cost(facts);
  for (u32 i = 0; i < facts.model.gpu.size(); i++) {
    const GpuEvent& work = facts.model.gpu[i];
    if (work.kind() != Kind::kernel || !facts.inside(work.begin_ns)) continue;
    if (!facts.classes.is(work.name, NameClass::fp32_matmul_kernel) || names.kernel(work.name)) continue;
    if (facts.classes.is(work.name, NameClass::half_kernel)) continue;  // sums in float32 what it reads in half
    cost.gpu_work(i);
    heaviest.add(work.dur_ns, i);
  }
  double share = facts.share(double(cost.ns()));
  return Match{share, share, facts.windows.per_step(cost.ns()) / 2,
               "Each step waits " + ms(facts.windows.per_step(cost.ns())) + " for products in float32 without TF32.",
               heaviest.take()};
}

// The saving is half of their time: products of odd sizes fall back to kernels that are at best half as fast. A product
// that reaches more than half of its roof has not fallen back. Products of attention that is written out are left to
// AT1: fusing it removes them.
std::optional<Match> odd_shapes(const Facts& facts) {
  if (vendor_of(facts.model) != Vendor::nvidia) return {};
  std::set<std::string> fast;
  for (const FlopsRow& row : facts.flops.rows)
    if (facts.flops.of_roof(row) > 0.5) fast.insert(kind_of(facts.model.events[row.event]));
  std::vector<bool> attention = in_attention(facts);
  Found found = find(
      facts,
      [&](u32 i) {
        const Event& e = facts.model.events[i];
        if (!facts.classes.is(e, NameClass::matrix_product) || attention[i] || fast.contains(kind_of(e))) return false;
        std::vector<TensorInput> matrices;
        for (const OpInput& input : inputs_of(e))
          if (input.tensor.defined && input.tensor.sizes.size() >= 2) matrices.push_back(input.tensor);
        if (matrices.size() < 2 || !is_half(matrices.back().dtype)) return false;
        return is_misaligned(matrices[matrices.size() - 2], matrices.back());
      },
      Counted::gpu_work);
  if (!found.count) return {};
  double share = facts.share(double(found.ns));
  return Match{share, share, facts.windows.per_step(found.ns) / 2,
               per_step(facts, found.count, "such products") + " take " + ms(facts.windows.per_step(found.ns)) + ".",
               found.evidence};
}

// Attention that is written out is left to AT1.
std::optional<Match> below_roof(const Facts& facts) {
  std::vector<bool> attention = in_attention(facts);
  double ns = 0, saving = 0;
  Heaviest heaviest(Evidence::Kind::range);
  std::map<std::string, Cost> costs;
  for (const FlopsRow& row : facts.flops.rows) {
    double of_roof = facts.flops.of_roof(row);
    if (of_roof >= 0 && of_roof < kGoodRoof && facts.share(double(row.gpu_ns)) > kLargeOp)
      costs.try_emplace(kind_of(facts.model.events[row.event]), facts);
  }
  if (costs.empty()) return {};
  for (u32 i = 0; i < facts.model.events.size(); i++) {
    const Event& e = facts.model.events[i];
    if (!is_operator(e) || !facts.device_ns[i] || attention[i]) continue;
    if (auto at = costs.find(kind_of(e)); at != costs.end()) at->second.gpu_work_of(i);
  }
  for (const FlopsRow& row : facts.flops.rows) {
    auto at = costs.find(kind_of(facts.model.events[row.event]));
    if (at == costs.end()) continue;
    double waited = double(at->second.ns());
    ns += waited;
    saving += waited * (1 - facts.flops.of_roof(row) / kGoodRoof);
    heaviest.add(row.gpu_ns, row.event);
  }
  if (ns <= 0) return {};
  double share = facts.share(ns);
  return Match{share, share, saving / double(facts.windows.steps.size()),
               "Operators that take more than 2 % of the step each stay below 30 % of their roof; each step waits " +
                   ms(ns / double(facts.windows.steps.size())) + " for them.",
               heaviest.take()};
}

// A fused kernel saves the passes over the scores. As it keeps these on chip, it also saves the time that products with
// few columns wait for memory: half of the products' time is a cautious estimate. GPUs only: what it saves on a CPU
// depends on torch's version.
std::optional<Match> written_out_attention(const Facts& facts) {
  if (!facts.gpu) return {};
  Cost passes(facts), products(facts);
  Heaviest heaviest(Evidence::Kind::range);
  std::vector<Attention> all = written_out_attentions(facts);
  for (const Attention& one : all) {
    i64 ns = 0;
    for (u32 op : one.ops) {
      (facts.classes.is(facts.model.events[op], NameClass::multiplies) ? products : passes).gpu_work_of(op);
      ns += facts.device_ns[op];
    }
    heaviest.add(ns, one.softmax);
  }
  if (all.empty()) return {};
  double ns = double(passes.ns() + products.ns()), share = facts.share(ns);
  return Match{share, share, facts.windows.per_step(double(passes.ns()) + double(products.ns()) / 2),
               per_step(facts, all.size(), "attentions") + " are written out; each step waits " +
                   ms(facts.windows.per_step(ns)) + " for them, " + ms(facts.windows.per_step(double(passes.ns()))) +
                   " of it for softmax, masks and scaling.",
               heaviest.take()};
}

// Products large enough not to wait for memory (each side at least kMinSide), at a rate that one core of any processor
// of the last ten years exceeds several times over with a tuned library. The saving assumes kTunedGflops, which one
// such core reaches. Time in which the thread waited for a CPU is subtracted; where it waited much, a rate tells
// nothing.
std::optional<Match> slow_blas(const Facts& facts) {
  if (facts.gpu || facts.on_busy_machine()) return {};
  constexpr double kSlowGflops = 8, kTunedGflops = 20;
  constexpr i64 kMinSide = 16;
  std::set<std::string> slow;  // kinds
  double flops = 0, ns = 0;
  for (const FlopsRow& row : facts.flops.rows) {
    const Event& e = facts.model.events[row.event];
    if (!facts.classes.is(e, NameClass::blas) || row.host_ns <= 0) continue;
    std::vector<TensorInput> matrices;
    for (const OpInput& input : inputs_of(e))
      if (input.tensor.defined && input.tensor.sizes.size() >= 2) matrices.push_back(input.tensor);
    if (matrices.size() < 2) continue;
    const TensorInput &a = matrices[matrices.size() - 2],
                      &b = matrices.back();  // a bias has one dimension, or is first
    double host_ns = double(row.host_ns) * (1 - std::clamp(facts.waited, 0.0, 0.99));
    double rate = row.flops / host_ns;
    if (std::min({a.size(1), a.size(0), b.size(1), b.size(0)}) < kMinSide || rate > kSlowGflops) continue;
    slow.insert(kind_of(e));
    flops += row.flops, ns += host_ns;
  }
  if (slow.empty()) return {};
  Found found = find(facts, [&](u32 i) { return slow.contains(kind_of(facts.model.events[i])); });
  double share = facts.share(double(found.ns)), left = flops / ns / kTunedGflops;
  return Match{share, share, facts.windows.per_step(found.ns) * (1 - left),
               per_step(facts, found.count, "products") + " take " + ms(facts.windows.per_step(found.ns)) + ", at " +
                   printed("%.1f GFLOP/s", flops / ns) + "; one core reaches 20 and more with a tuned library.",
               found.evidence};
}

}  // namespace tprof::rules
