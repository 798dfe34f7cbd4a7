// Rules of advice about operators, kernels and patterns of them.
#include <stdio.h>

#include <set>

#include "analysis/advice/rule.h"
#include "analysis/basis/tensor_cores.h"
#include "analysis/basis/tensors.h"

namespace tprof::rules {
namespace {

constexpr u64 kLeastLoop = 10;      // torch's pattern matcher: iterations that make a loop
constexpr double kGoodRoof = 0.30;  // of the roof
constexpr double kLargeOp = 0.02;   // of the step
constexpr u64 kManyUpdates = 50;    // kernels of one optimizer step that point to one tensor at a time

// The operators that a filter keeps; one inside another counts once.
struct Found {
  u64 count = 0;
  i64 ns = 0;  // what they cost
  std::vector<Evidence> evidence;
};
enum class Of : u8 { operators, their_works };
template <class Keep>
Found find(const Facts& facts, Keep keep, Of of = Of::operators) {
  Found out;
  Heaviest heaviest(Evidence::Of::range);
  Cost cost(facts);
  std::vector<bool> inside(facts.model.events.size());
  for (u32 i = 0; i < facts.model.events.size(); i++) {
    const Event& e = facts.model.events[i];
    inside[i] = e.parent >= 0 && inside[e.parent];
    if (inside[i] || !facts.inside(e.begin_ns) || !keep(i)) continue;
    inside[i] = true;
    out.count++;
    if (of == Of::operators)
      cost.op(i);
    else
      cost.works_of(i);
    heaviest.add(facts.device_ns[i] ? facts.device_ns[i] : e.dur_ns, i);
  }
  out.ns = cost.ns();
  out.evidence = heaviest.take();
  return out;
}

// "12 products per step", "0.5 products per step"
std::string per_step(const Facts& facts, u64 count, const char* what) {
  double each = double(count) / double(facts.windows.steps.size());
  char text[32];
  snprintf(text, sizeof text, each < 10 && each != double(u64(each)) ? "%.1f " : "%.0f ", each);
  return text + std::string(what) + " per step";
}

// By event: those below it, in order; the last lists hold those without a parent, by thread. Python calls are left out:
// what is called in them stands among what their callers call.
std::vector<std::vector<u32>> siblings_of(const Model& model) {
  std::vector<std::vector<u32>> lists(model.events.size() + model.threads.size());
  for (u32 i = 0; i < model.events.size(); i++) {
    if (model.events[i].flags & kEventPython) continue;
    i32 parent = model.events[i].parent;
    while (parent >= 0 && model.events[parent].flags & kEventPython) parent = model.events[parent].parent;
    lists[parent >= 0 ? size_t(parent) : model.events.size() + model.events[i].thread].push_back(i);
  }
  return lists;
}

bool is_below_operator(const Model& model, u32 event) {
  for (i32 e = model.events[event].parent; e >= 0; e = model.events[e].parent)
    if (is_operator(model.events[e])) return true;
  return false;
}

// Attention that is written out: a product, a softmax over what it gives, and a product with that, with no more than a
// few operators (scale, mask, dropout, casts) between them.
struct Attention {
  u32 softmax;
  std::vector<u32> ops;  // from one product to the other
};
std::vector<Attention> attentions(const Facts& facts) {
  constexpr size_t kBetween = 8;
  std::vector<Attention> out;
  auto is = [&](u32 event, Word word) { return facts.words.is(facts.model.events[event], word); };
  for (const std::vector<u32>& list : siblings_of(facts.model)) {
    if (list.empty() || is_below_operator(facts.model, list[0])) continue;
    for (size_t k = 0; k < list.size(); k++) {
      if (!is(list[k], Word::softmax) || !facts.inside(facts.model.events[list[k]].begin_ns)) continue;
      size_t first = k, last = k;
      while (first > 0 && k - first < kBetween && !is(list[first], Word::multiplies)) first--;
      while (last + 1 < list.size() && last - k < kBetween && !is(list[last], Word::multiplies)) last++;
      if (!is(list[first], Word::multiplies) || !is(list[last], Word::multiplies)) continue;
      out.push_back({list[k], {list.begin() + i64(first), list.begin() + i64(last) + 1}});
    }
  }
  return out;
}

// By event: it is part of one.
std::vector<bool> in_attention(const Facts& facts) {
  std::vector<bool> out(facts.model.events.size());
  for (const Attention& one : attentions(facts))
    for (u32 op : one.ops) out[op] = true;
  for (size_t i = 0; i < out.size(); i++)  // parents stand before their children
    if (i32 parent = facts.model.events[i].parent; parent >= 0 && out[size_t(parent)]) out[i] = true;
  return out;
}

// The name and inputs of an operator: what Flops sums up in one row.
std::string kind_of(const Event& e) { return std::to_string(e.name) + ' ' + std::string(e.encoded_inputs()); }

// Any of its inputs is of half precision.
bool in_half(const Event& e) {
  for (const OpInput& input : inputs_of(e))
    if (input.tensor.defined && is_half(input.tensor.dtype)) return true;
  return false;
}

// Of [M, K] x [K, N]: the rows (columns, if it is stored so) of a matrix do not all begin on 16 bytes, which tensor
// cores read at once: its leading dimension is no multiple of 8. An odd batch x sequence alone, which is no matrix's
// leading dimension, does no harm. Where strides are not known, two of the three sizes must be odd: then a leading one
// is, however the matrices are stored.
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

// The plugin's rule: compute capability 7.0, no tensor core kernel, and work that could use them; what computes in half
// precision already needs no other one. Half of that time is a cautious estimate: data sheets promise a factor of four
// to eight for half precision.
std::optional<Match> no_tensor_cores(const Facts& facts) {
  if (!facts.device || facts.device->compute_major < 7) return {};
  TensorCoreNames names(facts.model, Rules::tprof);
  Heaviest heaviest(Evidence::Of::work);
  Cost cost(facts);
  for (u32 i = 0; i < facts.model.gpu.size(); i++) {
    const GpuEvent& work = facts.model.gpu[i];
    if (work.kind() != Kind::kernel || !facts.inside(work.begin_ns)) continue;
    if (names.answer(work.name) != TensorCoreUse::no) return {};
    i32 op = work.op;
    while (op >= 0 && !names.op(facts.model.events[op].name)) op = facts.model.events[op].parent;
    bool by_name = facts.words.is(work.name, Word::fp32_matmul_kernel);  // in a graph it has no operator of its own
    if (op < 0 ? !by_name : in_half(facts.model.events[op])) continue;
    cost.work(i);
    heaviest.add(work.dur_ns, i);
  }
  double share = facts.share(double(cost.ns()));
  return Match{share,
               share,
               facts.windows.per_step(cost.ns()) / 2,
               "No kernel uses tensor cores; steps wait for matrix products and convolutions that could for " +
                   ms(facts.windows.per_step(cost.ns())) + ".",
               heaviest.take(),
               (facts.trains ? "Train in mixed precision: " : "Compute in half precision: ") +
                   std::string(facts.device->compute_major < 8 ? "torch.autocast with float16 (bfloat16 has no tensor "
                                                                 "cores before compute capability 8.0)."
                                                               : "torch.autocast with bfloat16 or float16.")};
}

// From compute capability 8.0 on TF32 is at least twice as fast.
std::optional<Match> fp32_products(const Facts& facts) {
  if (!facts.device || facts.device->compute_major < 8) return {};
  TensorCoreNames names(facts.model, Rules::tprof);
  Heaviest heaviest(Evidence::Of::work);
  Cost cost(facts);
  for (u32 i = 0; i < facts.model.gpu.size(); i++) {
    const GpuEvent& work = facts.model.gpu[i];
    if (work.kind() != Kind::kernel || !facts.inside(work.begin_ns)) continue;
    if (!facts.words.is(work.name, Word::fp32_matmul_kernel) || names.kernel(work.name)) continue;
    cost.work(i);
    heaviest.add(work.dur_ns, i);
  }
  double share = facts.share(double(cost.ns()));
  return Match{share, share, facts.windows.per_step(cost.ns()) / 2,
               "Steps wait " + ms(facts.windows.per_step(cost.ns())) + " for products in float32 without TF32.",
               heaviest.take()};
}

// Half of their time: products of odd sizes fall back to kernels that are at best half as fast. One that reaches more
// than half of its roof has not fallen back. Those of attention that is written out are AT1's: who fuses it has none left.
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
        if (!facts.words.is(e, Word::matrix_product) || attention[i] || fast.contains(kind_of(e))) return false;
        std::vector<TensorInput> matrices;
        for (const OpInput& input : inputs_of(e))
          if (input.tensor.defined && input.tensor.sizes.size() >= 2) matrices.push_back(input.tensor);
        if (matrices.size() < 2 || !is_half(matrices.back().dtype)) return false;
        return is_misaligned(matrices[matrices.size() - 2], matrices.back());
      },
      Of::their_works);
  if (!found.count) return {};
  double share = facts.share(double(found.ns));
  return Match{share, share, facts.windows.per_step(found.ns) / 2,
               per_step(facts, found.count, "such products") + " take " + ms(facts.windows.per_step(found.ns)) + ".",
               found.evidence};
}

// Attention that is written out is AT1's.
std::optional<Match> below_roof(const Facts& facts) {
  std::vector<bool> attention = in_attention(facts);
  double ns = 0, saving = 0;
  Heaviest heaviest(Evidence::Of::range);
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
    if (auto at = costs.find(kind_of(e)); at != costs.end()) at->second.works_of(i);
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
               "Operators with more than 2 % of the step each stay below 30 % of their roof; steps wait " +
                   ms(ns / double(facts.windows.steps.size())) + " for them.",
               heaviest.take()};
}

// One fused kernel needs neither the passes over the scores nor, as it keeps them on chip, the time that products of few
// columns wait for memory: half of theirs is a cautious estimate. Only on GPUs: what it saves on CPUs depends on torch's
// version.
std::optional<Match> written_out_attention(const Facts& facts) {
  if (!facts.gpu) return {};
  Cost passes(facts), products(facts);
  Heaviest heaviest(Evidence::Of::range);
  std::vector<Attention> all = attentions(facts);
  for (const Attention& one : all) {
    i64 ns = 0;
    for (u32 op : one.ops) {
      (facts.words.is(facts.model.events[op], Word::multiplies) ? products : passes).works_of(op);
      ns += facts.device_ns[op];
    }
    heaviest.add(ns, one.softmax);
  }
  if (all.empty()) return {};
  double ns = double(passes.ns() + products.ns()), share = facts.share(ns);
  return Match{share, share, facts.windows.per_step(double(passes.ns()) + double(products.ns()) / 2),
               per_step(facts, all.size(), "attentions") + " are written out; steps wait " +
                   ms(facts.windows.per_step(ns)) + " for them, " + ms(facts.windows.per_step(double(passes.ns()))) +
                   " of it for softmax, masks and scaling.",
               heaviest.take()};
}

// Products that compute much and wait for no memory, each side at least kLeastSide, at a rate that one core of any
// processor of the last ten years exceeds several times over with a tuned library. What they would save is counted up
// to kTunedGflops, which one such core reaches. Time that the thread waited for a CPU is not its own.
std::optional<Match> slow_blas(const Facts& facts) {
  if (facts.gpu) return {};
  constexpr double kSlowGflops = 8, kTunedGflops = 20;
  constexpr i64 kLeastSide = 16;
  std::set<std::string> slow;  // kinds
  double flops = 0, ns = 0;
  for (const FlopsRow& row : facts.flops.rows) {
    const Event& e = facts.model.events[row.event];
    if (!facts.words.is(e, Word::blas) || row.host_ns <= 0) continue;
    std::vector<TensorInput> matrices;
    for (const OpInput& input : inputs_of(e))
      if (input.tensor.defined && input.tensor.sizes.size() >= 2) matrices.push_back(input.tensor);
    if (matrices.size() < 2) continue;
    const TensorInput &a = matrices[matrices.size() - 2],
                      &b = matrices.back();  // a bias has one dimension, or is first
    double host_ns = double(row.host_ns) * (1 - std::clamp(facts.waited, 0.0, 0.99));
    double rate = row.flops / host_ns;
    if (std::min({a.size(1), a.size(0), b.size(1), b.size(0)}) < kLeastSide || rate > kSlowGflops) continue;
    slow.insert(kind_of(e));
    flops += row.flops, ns += host_ns;
  }
  if (slow.empty()) return {};
  Found found = find(facts, [&](u32 i) { return slow.contains(kind_of(facts.model.events[i])); });
  double share = facts.share(double(found.ns)), left = flops / ns / kTunedGflops;
  char rate[32];
  snprintf(rate, sizeof rate, "%.1f GFLOP/s", flops / ns);
  return Match{share, share, facts.windows.per_step(found.ns) * (1 - left),
               per_step(facts, found.count, "products") + " take " + ms(facts.windows.per_step(found.ns)) + ", at " +
                   rate + "; one core does 20 and more with a tuned library.",
               found.evidence};
}

// Many small kernels inside Optimizer.step, or its Python function by name. With a GPU, nine tenths of the operators'
// time in which it waits could go. On a CPU the foreach functions go through the tensors one by one themselves and save
// nothing; a fused optimizer (torch 2.4) needs no Python between the operators. Half of that is a cautious estimate: of
// small tensors it saved 38 % (SGD) and 74 % (Adam) of the optimizer step, of large ones with SGD nothing.
std::optional<Match> single_tensor_optimizer(const Facts& facts) {
  if (facts.lacks_backward) return {};  // then GPU work may be missing as well
  std::vector<Interval> steps;
  u64 count = 0;
  bool named = false;
  Cost operators(facts), all(facts);
  Heaviest heaviest(Evidence::Of::range);
  for (u32 i = 0; i < facts.model.events.size(); i++) {
    const Event& e = facts.model.events[i];
    if (!facts.inside(e.begin_ns)) continue;
    named |= facts.words.is(e, Word::single_tensor_optimizer);
    if (!facts.words.is(e, Word::optimizer_step)) continue;
    steps.push_back({e.begin_ns, e.end_ns()});
    all.time(e.begin_ns, e.end_ns());
    count++;
    heaviest.add(e.dur_ns, i);
  }
  if (!count) return {};
  IntervalSet in(std::move(steps));
  u64 updates = 0, multi = 0;
  for (const GpuEvent& work : facts.model.gpu) {
    if (work.kind() != Kind::kernel || work.call == kNone) continue;
    i64 launched = facts.model.calls[work.call].begin_ns;
    if (!in.length_in(launched, launched + 1)) continue;
    updates++;
    multi += facts.words.is(work.name, Word::multi_tensor_kernel);
  }
  for (const Event& e : facts.model.events) {
    if (!is_operator(e) || e.parent < 0 || is_operator(facts.model.events[e.parent]) ||
        !in.length_in(e.begin_ns, e.begin_ns + 1))
      continue;
    operators.time(e.begin_ns, e.end_ns());
    updates += !facts.gpu;  // without a GPU the operators count
    multi += facts.words.is(e, Word::foreach_op);
  }
  if (!named && (multi || updates <= kManyUpdates * count)) return {};
  double ns = facts.gpu ? double(operators.ns()) : double(all.ns() - operators.ns());
  double share = facts.share(ns);
  return Match{share,
               share,
               facts.windows.per_step(ns) * (facts.gpu ? 0.9 : 0.5),
               "The optimizer step takes " + ms(facts.windows.per_step(in.length())) + " and " +
                   std::to_string(updates / count) + " small operations; " + ms(facts.windows.per_step(ns)) +
                   (facts.gpu ? " of it no kernel runs." : " of it are Python between them."),
               heaviest.take(),
               facts.gpu ? ""
                         : "Create it with fused=True (torch 2.4 and later); foreach=True saves nothing on a CPU."};
}

std::optional<Match> gradients_zeroed(const Facts& facts) {
  std::vector<bool> below(facts.model.events.size());
  for (u32 i = 0; i < facts.model.events.size(); i++) {
    const Event& e = facts.model.events[i];
    below[i] = facts.words.is(e, Word::zero_grad) || (e.parent >= 0 && below[e.parent]);
  }
  Found found = find(facts, [&](u32 i) { return below[i] && facts.words.is(facts.model.events[i], Word::clears); });
  if (!found.count) return {};
  double share = facts.share(double(found.ns));
  return Match{share, share, facts.windows.per_step(found.ns),
               per_step(facts, found.count, "gradients") + " are filled with zeros, " +
                   ms(facts.windows.per_step(found.ns)) + ".",
               found.evidence};
}

// A convolution with a third tensor, and a batch norm right behind it, or behind an addition in place, by which a norm
// counts its batches while training.
std::optional<Match> bias_before_norm(const Facts& facts) {
  Heaviest heaviest(Evidence::Of::range);
  u64 count = 0;
  std::vector<i32> last(facts.model.threads.size(), -1);  // the operator before, on the same level or above
  for (u32 i = 0; i < facts.model.events.size(); i++) {
    const Event& e = facts.model.events[i];
    if (!is_operator(e) || (e.parent >= 0 && is_operator(facts.model.events[e.parent]))) continue;
    if (facts.words.is(e, Word::adds_in_place)) continue;
    i32& before = last[e.thread];
    if (before >= 0 && facts.inside(e.begin_ns) && facts.words.is(e, Word::normalises) &&
        facts.words.is(facts.model.events[before], Word::convolves)) {
      std::vector<OpInput> inputs = inputs_of(facts.model.events[before]);
      if (inputs.size() > 2 && inputs[2].tensor.defined && !inputs[2].tensor.sizes.empty()) {
        count++;
        heaviest.add(facts.model.events[before].dur_ns, u32(before));
      }
    }
    before = i32(i);
  }
  if (!count) return {};
  return Match{double(count) / double(facts.windows.steps.size()), -1, -1,
               per_step(facts, count, "convolutions") + " add a bias for nothing.", heaviest.take()};
}

// After each aten::select, or several in a row (x[i, j]), the same operators follow, ten times and more. Not inside of an
// operator: that loop is torch's own (a batched product without MKL).
std::optional<Match> indexing_loop(const Facts& facts) {
  const Model& model = facts.model;
  Heaviest heaviest(Evidence::Of::range);
  Cost cost(facts);
  u64 rounds = 0;
  for (const std::vector<u32>& list : siblings_of(model)) {
    if (list.empty() || is_below_operator(model, list[0])) continue;
    std::vector<size_t> starts;
    for (size_t k = 0; k < list.size(); k++) {
      bool behind = k > 0 && facts.words.is(model.events[list[k - 1]], Word::selects);
      if (!behind && facts.words.is(model.events[list[k]], Word::selects) &&
          facts.inside(model.events[list[k]].begin_ns))
        starts.push_back(k);
    }
    if (starts.size() < kLeastLoop) continue;
    starts.push_back(list.size());
    // Rounds a and b run the same operators; the last one may be followed by others.
    auto same = [&](size_t a, size_t b) {
      size_t length = starts[a + 1] - starts[a];
      for (size_t k = 0; k < length; k++)
        if (starts[b] + k >= list.size() ||
            model.events[list[starts[a] + k]].name != model.events[list[starts[b] + k]].name)
          return false;
      return b + 1 == starts.size() - 1 || starts[b + 1] - starts[b] == length;
    };
    for (size_t first = 0; first + 1 < starts.size();) {
      size_t after = first + 1;
      while (after + 1 < starts.size() && starts[first + 1] - starts[first] > 1 && same(first, after)) after++;
      if (after - first >= kLeastLoop) {
        size_t length = starts[first + 1] - starts[first];
        size_t last = starts[after - 1] + length - 1;
        cost.time(model.events[list[starts[first]]].begin_ns, model.events[list[last]].end_ns());
        for (size_t k = starts[first]; k <= last; k++) cost.works_of(list[k]);
        rounds += after - first;
        heaviest.add(i64(after - first), list[starts[first]]);
      }
      first = after;
    }
  }
  if (!rounds) return {};
  double ns = double(cost.ns()), share = facts.share(ns);
  return Match{share, share, facts.windows.per_step(ns) * 0.9,
               per_step(facts, rounds, "rounds of such loops") + " take " + ms(facts.windows.per_step(ns)) + ".",
               heaviest.take()};
}

// aten::to > aten::_to_copy > aten::copy_ of equal types, right behind an operator that ended in filling a tensor.
std::optional<Match> filled_then_moved(const Facts& facts) {
  const Model& model = facts.model;
  std::vector<std::vector<u32>> lists = siblings_of(model);
  auto ends_in_fill = [&](u32 event) {
    while (!lists[event].empty()) event = lists[event].back();
    return facts.words.is(model.events[event], Word::fills);
  };
  auto copies_same_type = [&](u32 event) {
    u32 copy = event;
    for (int level = 0; level < 2; level++) {
      if (lists[copy].empty()) return false;
      copy = lists[copy].back();
    }
    if (model.names[model.events[copy].name] != "aten::copy_") return false;
    std::vector<OpInput> inputs = inputs_of(model.events[copy]);
    return inputs.size() >= 2 && inputs[0].tensor.defined && inputs[1].tensor.defined &&
           inputs[0].tensor.dtype == inputs[1].tensor.dtype;
  };
  Heaviest heaviest(Evidence::Of::range);
  Cost cost(facts);
  u64 count = 0;
  for (const std::vector<u32>& list : lists)
    for (size_t k = 1; k < list.size(); k++) {
      const Event& e = model.events[list[k]];
      if (!facts.words.is(e, Word::to) || !facts.inside(e.begin_ns) || !copies_same_type(list[k]) ||
          !ends_in_fill(list[k - 1]))
        continue;
      count++;
      cost.op(list[k]);
      heaviest.add(e.dur_ns, list[k]);
    }
  if (!count) return {};
  double ns = double(cost.ns()), share = facts.share(ns);
  return Match{share, share, facts.windows.per_step(ns),
               per_step(facts, count, "tensors") + " take this detour, " + ms(facts.windows.per_step(ns)) + ".",
               heaviest.take()};
}

std::optional<Match> layout_copies(const Facts& facts) {
  Found found = find(facts, [&](u32 i) { return facts.words.is(facts.model.events[i], Word::contiguous_copy); });
  if (!found.count) return {};
  double share = facts.share(double(found.ns));
  return Match{share, share, facts.windows.per_step(found.ns),
               per_step(facts, found.count, "copies for contiguity") + " take " + ms(facts.windows.per_step(found.ns)) +
                   ".",
               found.evidence};
}

}  // namespace tprof::rules
