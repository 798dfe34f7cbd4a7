// Rules of advice about patterns of operators that could be replaced by cheaper ones.
#include "analysis/advice/operator_search.h"
#include "analysis/advice/rule.h"
#include "analysis/basis/copies.h"
#include "analysis/basis/tensors.h"
#include "analysis/basis/updates.h"

namespace tprof::rules {
namespace {

constexpr u64 kMinLoop = 10;      // iterations that make a loop, as in torch's pattern matcher
constexpr u64 kManyUpdates = 50;  // kernels per optimizer step, from which on it updates one tensor at a time

// Whether this step is one of the optimizers of torch.optim that take fused=True on a CPU.
bool may_be_fused(const std::string& step) {
  for (const char* known : {"Adam", "AdamW", "SGD", "Adagrad"})
    if (step == std::string("Optimizer.step#") + known + ".step") return true;
  return false;
}

}  // namespace

// Found by many small kernels inside Optimizer.step, or by the name of its Python function. With a GPU, nine tenths of
// the operators' time during which it waits could be saved. On a CPU the foreach functions also process the tensors one
// by one and save nothing; a fused optimizer (torch 2.4) needs no Python between the operators. Half of that time is a
// cautious estimate: with small tensors it saved 38 % (SGD) and 74 % (Adam) of the optimizer step, with large ones and
// SGD nothing.
std::optional<Match> single_tensor_optimizer(const Facts& facts) {
  if (facts.lacks_backward) return {};  // then GPU work may be missing as well
  std::vector<Interval> steps;
  u64 count = 0;
  bool named = false, fusible = true;
  Cost operators(facts), all(facts);
  Heaviest heaviest(Evidence::Kind::range);
  for (u32 i = 0; i < facts.model.events.size(); i++) {
    const Event& e = facts.model.events[i];
    if (!facts.inside(e.begin_ns)) continue;
    named |= facts.classes.is(e, NameClass::single_tensor_optimizer);
    if (!facts.classes.is(e, NameClass::optimizer_step)) continue;
    Interval update{updates_from(facts.model, facts.classes, i), e.end_ns()};
    steps.push_back(update);
    all.time(update.begin, update.end);
    count++;
    fusible &= may_be_fused(facts.model.names[e.name]);
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
    multi += facts.classes.is(work.name, NameClass::multi_tensor_kernel);
  }
  for (const Event& e : facts.model.events) {
    if (!is_operator(e) || e.parent < 0 || is_operator(facts.model.events[e.parent]) ||
        !in.length_in(e.begin_ns, e.begin_ns + 1))
      continue;
    operators.time(e.begin_ns, e.end_ns());
    updates += !facts.gpu;  // without a GPU the operators count
    multi += facts.classes.is(e, NameClass::foreach_op);
  }
  if (!named && (multi || updates <= kManyUpdates * count)) return {};
  double ns = facts.gpu ? double(operators.ns()) : double(all.ns() - operators.ns());
  double share = facts.share(ns);
  return Match{share,
               share,
               facts.windows.per_step(ns) * (facts.gpu ? 0.9 : 0.5),
               "The optimizer step takes " + ms(facts.windows.per_step(in.length())) + " and " +
                   std::to_string(updates / count) + " small operations; for " + ms(facts.windows.per_step(ns)) +
                   (facts.gpu ? " of it no kernel runs." : " of it Python runs between them."),
               heaviest.take(),
               facts.gpu ? ""
               : fusible ? "Create it with fused=True (torch 2.4 and later); foreach=True saves nothing on a CPU."
                         : "Use an optimizer that takes fused=True (torch.optim's Adam, AdamW, SGD and Adagrad, torch "
                           "2.4 and later); foreach=True saves nothing on a CPU."};
}

std::optional<Match> gradients_zeroed(const Facts& facts) {
  std::vector<bool> below(facts.model.events.size());
  for (u32 i = 0; i < facts.model.events.size(); i++) {
    const Event& e = facts.model.events[i];
    below[i] = facts.classes.is(e, NameClass::zero_grad) || (e.parent >= 0 && below[e.parent]);
  }
  Found found =
      find(facts, [&](u32 i) { return below[i] && facts.classes.is(facts.model.events[i], NameClass::clears); });
  if (!found.count) return {};
  double share = facts.share(double(found.ns));
  return Match{share, share, facts.windows.per_step(found.ns),
               per_step(facts, found.count, "gradients") + " are filled with zeros, " +
                   ms(facts.windows.per_step(found.ns)) + ".",
               found.evidence};
}

// Whether a batch norm subtracts the mean of its batch, and with it a bias before it; in evaluation it subtracts one of
// before, which that bias is not part of.
bool uses_its_batch(const Facts& facts, const Event& norm) {
  constexpr size_t kTraining = 5;  // batch_norm(input, weight, bias, running_mean, running_var, training, ...)
  std::vector<OpInput> inputs = inputs_of(norm);
  bool known = inputs.size() > kTraining && inputs[kTraining].booleans.size() == 1;
  return known ? inputs[kTraining].booleans[0] : facts.trains;
}

// A convolution with a third tensor input, followed directly by a batch norm. An addition in place may lie between
// them: a norm counts its batches that way while training.
std::optional<Match> bias_before_norm(const Facts& facts) {
  Heaviest heaviest(Evidence::Kind::range);
  u64 count = 0;
  std::vector<i32> last(facts.model.threads.size(), -1);  // by thread: the previous outermost operator
  for (u32 i = 0; i < facts.model.events.size(); i++) {
    const Event& e = facts.model.events[i];
    if (!is_operator(e) || (e.parent >= 0 && is_operator(facts.model.events[e.parent]))) continue;
    if (facts.classes.is(e, NameClass::adds_in_place)) continue;
    i32& before = last[e.thread];
    if (before >= 0 && facts.inside(e.begin_ns) && facts.classes.is(e, NameClass::normalises) &&
        facts.classes.is(facts.model.events[before], NameClass::convolves) && uses_its_batch(facts, e)) {
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
               per_step(facts, count, "convolutions") + " add a bias that has no effect.", heaviest.take()};
}

// The same operators follow each aten::select, or several of them in a row (x[i, j]), at least ten times. A loop inside
// an operator does not count: it is torch's own (a batched product without MKL).
std::optional<Match> indexing_loop(const Facts& facts) {
  const Model& model = facts.model;
  Heaviest heaviest(Evidence::Kind::range);
  Cost cost(facts);
  u64 iterations = 0;
  for (const std::vector<u32>& list : siblings_of(model)) {
    if (list.empty() || is_below_operator(model, list[0])) continue;
    std::vector<size_t> starts;
    for (size_t k = 0; k < list.size(); k++) {
      bool follows_select = k > 0 && facts.classes.is(model.events[list[k - 1]], NameClass::selects);
      if (!follows_select && facts.classes.is(model.events[list[k]], NameClass::selects) &&
          facts.inside(model.events[list[k]].begin_ns))
        starts.push_back(k);
    }
    if (starts.size() < kMinLoop) continue;
    starts.push_back(list.size());
    // Whether iterations a and b run the same operators; other operators may follow the last one.
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
      if (after - first >= kMinLoop) {
        size_t length = starts[first + 1] - starts[first];
        size_t last = starts[after - 1] + length - 1;
        cost.time(model.events[list[starts[first]]].begin_ns, model.events[list[last]].end_ns());
        for (size_t k = starts[first]; k <= last; k++) cost.gpu_work_of(list[k]);
        iterations += after - first;
        heaviest.add(i64(after - first), list[starts[first]]);
      }
      first = after;
    }
  }
  if (!iterations) return {};
  double ns = double(cost.ns()), share = facts.share(ns);
  return Match{share, share, facts.windows.per_step(ns) * 0.9,
               per_step(facts, iterations, "iterations of such loops") + " take " + ms(facts.windows.per_step(ns)) +
                   ".",
               heaviest.take()};
}

// aten::to > aten::_to_copy > aten::copy_ between host and device without a change of type, directly after an operator
// whose last step fills a tensor of those sizes.
std::optional<Match> filled_then_moved(const Facts& facts) {
  const Model& model = facts.model;
  std::vector<std::vector<u32>> lists = siblings_of(model);
  std::vector<bool> moves(model.events.size());  // it or what is in it copies between host and device
  for (const GpuEvent& work : model.gpu) {
    CopyKind kind = work.kind() == Kind::copy ? copy_kind_of(work) : CopyKind::unknown;
    if (kind != CopyKind::to_device && kind != CopyKind::to_host) continue;
    for (i32 op = work.op; op >= 0; op = model.events[size_t(op)].parent) moves[size_t(op)] = true;
  }
  // The tensor that an operator fills in its last step; undefined if it ends with something else.
  auto filled_by = [&](u32 event) -> TensorInput {
    if (!is_operator(model.events[event])) return {};
    while (!lists[event].empty()) event = lists[event].back();
    std::vector<OpInput> inputs = inputs_of(model.events[event]);
    return facts.classes.is(model.events[event], NameClass::fills) && !inputs.empty() ? inputs[0].tensor
                                                                                      : TensorInput{};
  };
  auto moves_same_type = [&](u32 event, const TensorInput& filled) {
    u32 copy = event;
    for (int level = 0; level < 2; level++) {
      if (lists[copy].empty()) return false;
      copy = lists[copy].back();
    }
    if (!moves[copy] || model.names[model.events[copy].name] != "aten::copy_") return false;
    std::vector<OpInput> inputs = inputs_of(model.events[copy]);
    return inputs.size() >= 2 && inputs[0].tensor.defined && inputs[1].tensor.defined &&
           inputs[0].tensor.dtype == inputs[1].tensor.dtype && filled.defined && filled.sizes == inputs[1].tensor.sizes;
  };
  Heaviest heaviest(Evidence::Kind::range);
  Cost cost(facts);
  u64 count = 0;
  for (const std::vector<u32>& list : lists)
    for (size_t k = 1; k < list.size(); k++) {
      const Event& e = model.events[list[k]];
      if (!facts.classes.is(e, NameClass::to) || !facts.inside(e.begin_ns) ||
          !moves_same_type(list[k], filled_by(list[k - 1])))
        continue;
      count++;
      cost.op(list[k]);
      heaviest.add(e.dur_ns, list[k]);
    }
  if (!count) return {};
  double ns = double(cost.ns()), share = facts.share(ns);
  return Match{share, share, facts.windows.per_step(ns),
               per_step(facts, count, "tensors") + " are copied this way, which takes " +
                   ms(facts.windows.per_step(ns)) + ".",
               heaviest.take()};
}

std::optional<Match> layout_copies(const Facts& facts) {
  Found found = find(facts, [&](u32 i) { return facts.classes.is(facts.model.events[i], NameClass::contiguous_copy); });
  if (!found.count) return {};
  double share = facts.share(double(found.ns));
  return Match{share, share, facts.windows.per_step(found.ns),
               per_step(facts, found.count, "copies") + " make tensors contiguous, which takes " +
                   ms(facts.windows.per_step(found.ns)) + ".",
               found.evidence};
}

}  // namespace tprof::rules
