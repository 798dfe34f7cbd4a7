// Rules of advice about operators, kernels and patterns of them.
#include <stdio.h>

#include "analysis/advice_rules.h"
#include "analysis/tensor_cores.h"
#include "analysis/tensors.h"

namespace tprof::rules {
namespace {

constexpr u64 kLeastLoop = 10;        // torch's pattern matcher: iterations that make a loop
constexpr double kGoodRoof = 0.30;    // of the roof
constexpr double kLargeOp = 0.02;     // of the step
constexpr u64 kManyUpdates = 50;      // kernels of one optimizer step that point to one tensor at a time

// What an operator costs: GPU time if it has some, else time of its thread.
i64 cost(const Facts& facts, u32 event) {
  return facts.device_ns[event] ? facts.device_ns[event] : facts.model.events[event].dur_ns;
}

// The operators that a filter keeps, summed; one inside another counts once.
struct Found {
  u64 count = 0;
  i64 ns = 0;
  std::vector<Evidence> evidence;
};
template <class Keep>
Found find(const Facts& facts, Keep keep) {
  Found out;
  Heaviest heaviest(Evidence::Of::range);
  std::vector<bool> inside(facts.model.events.size());
  for (u32 i = 0; i < facts.model.events.size(); i++) {
    const Event& e = facts.model.events[i];
    inside[i] = e.parent >= 0 && inside[e.parent];
    if (inside[i] || !facts.inside(e.begin_ns) || !keep(i)) continue;
    inside[i] = true;
    out.count++;
    out.ns += cost(facts, i);
    heaviest.add(cost(facts, i), i);
  }
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

// By event: those below it, in order; the last list holds those without a parent, by thread.
std::vector<std::vector<u32>> siblings_of(const Model& model) {
  std::vector<std::vector<u32>> lists(model.events.size() + model.threads.size());
  for (u32 i = 0; i < model.events.size(); i++) {
    const Event& e = model.events[i];
    lists[e.parent >= 0 ? size_t(e.parent) : model.events.size() + e.thread].push_back(i);
  }
  return lists;
}

}  // namespace

// The plugin's rule: compute capability 7.0, no tensor core kernel, and work that could use them. Half of that time is
// a cautious estimate: data sheets promise a factor of four to eight for half precision.
std::optional<Match> no_tensor_cores(const Facts& facts) {
  if (!facts.device || facts.device->compute_major < 7) return {};
  TensorCoreNames names(facts.model, Rules::tprof);
  Heaviest heaviest(Evidence::Of::work);
  i64 eligible = 0;
  for (u32 i = 0; i < facts.model.gpu.size(); i++) {
    const GpuEvent& work = facts.model.gpu[i];
    if (work.kind() != Kind::kernel || !facts.inside(work.begin_ns)) continue;
    if (names.answer(work.name) != TensorCoreUse::no) return {};
    i32 op = work.op;
    while (op >= 0 && !names.op(facts.model.events[op].name)) op = facts.model.events[op].parent;
    if (op < 0) continue;
    eligible += work.dur_ns;
    heaviest.add(work.dur_ns, i);
  }
  if (!eligible) return {};
  double share = facts.share(double(eligible));
  return Match{share, share, facts.windows.per_step(eligible) / 2,
               "No kernel uses tensor cores; matrix products and convolutions that could take " +
                   ms(facts.windows.per_step(eligible)) + " per step.",
               heaviest.take()};
}

// From compute capability 8.0 on TF32 is at least twice as fast.
std::optional<Match> fp32_products(const Facts& facts) {
  if (!facts.device || facts.device->compute_major < 8) return {};
  TensorCoreNames names(facts.model, Rules::tprof);
  Heaviest heaviest(Evidence::Of::work);
  i64 ns = 0;
  for (u32 i = 0; i < facts.model.gpu.size(); i++) {
    const GpuEvent& work = facts.model.gpu[i];
    if (work.kind() != Kind::kernel || !facts.inside(work.begin_ns)) continue;
    if (!facts.words.is(work.name, Word::fp32_matmul_kernel) || names.kernel(work.name)) continue;
    ns += work.dur_ns;
    heaviest.add(work.dur_ns, i);
  }
  if (!ns) return {};
  double share = facts.share(double(ns));
  return Match{share, share, facts.windows.per_step(ns) / 2,
               "Products in float32 without TF32 take " + ms(facts.windows.per_step(ns)) + " per step.",
               heaviest.take()};
}

// Half of their time: products of odd sizes fall back to kernels that are at best half as fast.
std::optional<Match> odd_shapes(const Facts& facts) {
  Found found = find(facts, [&](u32 i) {
    const Event& e = facts.model.events[i];
    if (!facts.words.is(e, Word::matrix_product)) return false;
    for (const OpInput& input : inputs_of(e)) {
      const TensorInput& t = input.tensor;
      if (t.defined && is_half(t.dtype) && t.sizes.size() >= 2 && (t.size(0) % 8 || t.size(1) % 8)) return true;
    }
    return false;
  });
  if (!found.count) return {};
  double share = facts.share(double(found.ns));
  return Match{share, share, facts.windows.per_step(found.ns) / 2,
               per_step(facts, found.count, "such products") + " take " + ms(facts.windows.per_step(found.ns)) + ".",
               found.evidence};
}

std::optional<Match> below_roof(const Facts& facts) {
  double ns = 0, saving = 0;
  Heaviest heaviest(Evidence::Of::range);
  for (const FlopsRow& row : facts.flops.rows) {
    double of_roof = facts.flops.of_roof(row);
    if (of_roof < 0 || of_roof >= kGoodRoof || facts.share(double(row.gpu_ns)) <= kLargeOp) continue;
    ns += double(row.gpu_ns);
    saving += double(row.gpu_ns) * (1 - of_roof / kGoodRoof);
    heaviest.add(row.gpu_ns, row.event);
  }
  if (ns <= 0) return {};
  double share = facts.share(ns);
  return Match{share, share, saving / double(facts.windows.steps.size()),
               "Operators with more than 2 % of the step each stay below 30 % of their roof; they take " +
                   ms(ns / double(facts.windows.steps.size())) + " per step.",
               heaviest.take()};
}

// Many small kernels inside Optimizer.step, or its Python function by name. All but a tenth could go of the time in
// which the GPU waits there, or of all of it without a GPU.
std::optional<Match> single_tensor_optimizer(const Facts& facts) {
  std::vector<Interval> steps;
  u64 count = 0;
  bool named = false;
  Heaviest heaviest(Evidence::Of::range);
  for (u32 i = 0; i < facts.model.events.size(); i++) {
    const Event& e = facts.model.events[i];
    if (!facts.inside(e.begin_ns)) continue;
    named |= facts.words.is(e, Word::single_tensor_optimizer);
    if (!facts.words.is(e, Word::optimizer_step)) continue;
    steps.push_back({e.begin_ns, e.end_ns()});
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
  if (!facts.gpu)  // without a GPU the operators count
    for (const Event& e : facts.model.events)
      updates += is_operator(e) && e.parent >= 0 && facts.words.is(facts.model.events[e.parent], Word::optimizer_step);
  if (!named && (multi || updates <= kManyUpdates * count)) return {};
  std::vector<Interval> waits;
  if (facts.gpu)
    for (const Gap& gap : facts.gpu->gaps) waits.push_back({gap.begin_ns, gap.end_ns});
  i64 idle = facts.gpu ? (in & IntervalSet(std::move(waits))).length() : in.length();
  double share = facts.share(double(in.length()));
  return Match{share, share, facts.windows.per_step(idle) * 0.9,
               "The optimizer step takes " + ms(facts.windows.per_step(in.length())) + " and " +
                   std::to_string(updates / count) + " small operations.",
               heaviest.take()};
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

// A convolution with a third tensor, and a batch norm right behind it.
std::optional<Match> bias_before_norm(const Facts& facts) {
  Heaviest heaviest(Evidence::Of::range);
  u64 count = 0;
  std::vector<i32> last(facts.model.threads.size(), -1);  // the operator before, on the same level or above
  for (u32 i = 0; i < facts.model.events.size(); i++) {
    const Event& e = facts.model.events[i];
    if (!is_operator(e) || (e.parent >= 0 && is_operator(facts.model.events[e.parent]))) continue;
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

// After each aten::select the same operators follow, ten times and more in a row.
std::optional<Match> indexing_loop(const Facts& facts) {
  const Model& model = facts.model;
  Heaviest heaviest(Evidence::Of::range);
  i64 ns = 0;
  u64 rounds = 0;
  for (const std::vector<u32>& list : siblings_of(model)) {
    std::vector<size_t> starts;
    for (size_t k = 0; k < list.size(); k++)
      if (facts.words.is(model.events[list[k]], Word::selects) && facts.inside(model.events[list[k]].begin_ns))
        starts.push_back(k);
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
        i64 begin = model.events[list[starts[first]]].begin_ns;
        ns += model.events[list[starts[after - 1] + length - 1]].end_ns() - begin;
        rounds += after - first;
        heaviest.add(i64(after - first), list[starts[first]]);
      }
      first = after;
    }
  }
  if (!rounds) return {};
  double share = facts.share(double(ns));
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
  i64 ns = 0;
  u64 count = 0;
  for (const std::vector<u32>& list : lists)
    for (size_t k = 1; k < list.size(); k++) {
      const Event& e = model.events[list[k]];
      if (!facts.words.is(e, Word::to) || !facts.inside(e.begin_ns) || !copies_same_type(list[k]) ||
          !ends_in_fill(list[k - 1]))
        continue;
      count++;
      ns += e.dur_ns;  // the host's time: such copies wait
      heaviest.add(e.dur_ns, list[k]);
    }
  if (!count) return {};
  double share = facts.share(double(ns));
  return Match{share, share, facts.windows.per_step(ns),
               per_step(facts, count, "tensors") + " take this detour, " + ms(facts.windows.per_step(ns)) + ".",
               heaviest.take()};
}

std::optional<Match> layout_copies(const Facts& facts) {
  Found found = find(facts, [&](u32 i) { return facts.words.is(facts.model.events[i], Word::contiguous_copy); });
  if (!found.count) return {};
  double share = facts.share(double(found.ns));
  return Match{
      share, share, facts.windows.per_step(found.ns),
      per_step(facts, found.count, "copies for contiguity") + " take " + ms(facts.windows.per_step(found.ns)) + ".",
      found.evidence};
}

}  // namespace tprof::rules
