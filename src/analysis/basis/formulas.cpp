#include "analysis/basis/formulas.h"

#include <math.h>

#include <algorithm>
#include <unordered_map>

#include "base/dtypes.h"

namespace tprof {
namespace {

using Count = OpCount;
using Inputs = std::vector<OpInput>;

const TensorInput* tensor(const Inputs& inputs, size_t i) {
  return i < inputs.size() && inputs[i].tensor.defined ? &inputs[i].tensor : nullptr;
}

Count count(double operations, double elements, const TensorInput& a, u8 output) {
  u32 in = dtype_bytes(a.dtype), out = dtype_bytes(output);
  return {operations, in && out ? elements * in : -1, a.dtype};
}

std::optional<Count> matrices(const Inputs& inputs, size_t first) {
  const TensorInput *a = tensor(inputs, first), *b = tensor(inputs, first + 1);
  if (!a || !b || a->sizes.size() < 2 || b->sizes.size() < 2 || a->size(0) != b->size(1)) return {};
  double batch = a->sizes.size() > 2 ? a->elements() / std::max(1.0, double(a->size(0)) * double(a->size(1))) : 1;
  double output = batch * double(a->size(1)) * double(b->size(0));
  return count(2 * output * double(a->size(0)), a->elements() + b->elements() + output, *a, a->dtype);
}

// input [.., K], weight [N, K]
std::optional<Count> linear(const Inputs& inputs, size_t first) {
  const TensorInput *a = tensor(inputs, first), *w = tensor(inputs, first + 1);
  if (!a || !w || a->sizes.empty() || w->sizes.size() != 2 || a->size(0) != w->size(0) || a->size(0) == 0) return {};
  double output = a->elements() / double(a->size(0)) * double(w->size(1));
  return count(2 * a->elements() * double(w->size(1)), a->elements() + w->elements() + output, *a, a->dtype);
}

std::optional<Count> linear_vector(const Inputs& inputs, size_t first) {
  const TensorInput *a = tensor(inputs, first), *v = tensor(inputs, first + 1);
  if (!a || !v || a->sizes.size() != 2 || v->sizes.size() != 1) return {};
  return count(2 * a->elements(), a->elements() + v->elements() + double(a->size(1)), *a, a->dtype);
}

double kernel_elements(const TensorInput& weight) {
  double product = 1;
  for (size_t i = 2; i < weight.sizes.size(); i++) product *= double(weight.sizes[i]);
  return product;
}

// Operators that move or create values without computing.
std::optional<Count> nothing(const Inputs&, size_t) { return Count{0, 0, 255}; }

// Each element of the input meets each weight of its group: no output shape is needed. weight [Cin, Cout / groups, ..]
std::optional<Count> transposed_convolution(const Inputs& inputs, size_t first) {
  const TensorInput *a = tensor(inputs, first), *w = tensor(inputs, first + 1);
  if (!a || !w || a->sizes.size() < 3 || a->sizes.size() != w->sizes.size()) return {};
  Count out{2 * a->elements() * double(w->sizes[1]) * kernel_elements(*w), -1, a->dtype};
  return out;
}

// input [N, Cin, ..], weight [Cout, Cin / groups, ..], bias, stride, padding, dilation
std::optional<Count> convolution(const Inputs& inputs, size_t first) {
  const TensorInput *a = tensor(inputs, first), *w = tensor(inputs, first + 1);
  if (!a || !w || a->sizes.size() < 3 || a->sizes.size() != w->sizes.size() || inputs.size() < first + 6) return {};
  // aten::convolution and its variants have a flag `transposed` and output padding after the dilation.
  if (first + 6 < inputs.size() && !inputs[first + 6].booleans.empty() && inputs[first + 6].booleans[0])
    return transposed_convolution(inputs, first);
  size_t dims = a->sizes.size() - 2;
  auto option = [&](size_t which, size_t d) -> std::optional<double> {
    const std::vector<i64>& list = inputs[first + which].integers;
    if (list.size() != 1 && list.size() != dims) return {};
    return double(list[list.size() == 1 ? 0 : d]);
  };
  double output = double(a->sizes[0]) * double(w->sizes[0]);
  for (size_t d = 0; d < dims; d++) {
    std::optional<double> stride = option(3, d), padding = option(4, d), dilation = option(5, d);
    if (!stride || !padding || !dilation || *stride <= 0) return {};
    double reach = *dilation * double(w->sizes[2 + d] - 1) + 1;
    double size = floor((double(a->sizes[2 + d]) + 2 * *padding - reach) / *stride) + 1;
    if (size <= 0) return {};
    output *= size;
  }
  double operations = 2 * output * double(w->sizes[1]) * kernel_elements(*w);
  return count(operations, a->elements() + w->elements() + output, *a, a->dtype);
}

// gradient of the output [N, Cout, ..], input, weight; the last list states which gradients are requested.
std::optional<Count> convolution_backward(const Inputs& inputs, size_t first) {
  const TensorInput *g = tensor(inputs, first), *a = tensor(inputs, first + 1), *w = tensor(inputs, first + 2);
  if (!g || !a || !w || g->sizes.size() < 3 || w->sizes.size() != g->sizes.size()) return {};
  bool transposed = false;  // the one flag among the inputs
  for (const OpInput& input : inputs) transposed |= input.booleans.size() == 1 && input.booleans[0];
  const std::vector<bool>& wanted = inputs.back().booleans;
  double gradients = wanted.size() == 3 ? double(wanted[0]) + double(wanted[1]) : 2;
  double forward = 2 * (transposed ? a : g)->elements() * double(w->sizes[1]) * kernel_elements(*w);
  return count(gradients * forward, g->elements() + a->elements() + w->elements(), *g, g->dtype);
}

// Whether attention is causal: the n-th flag after the three tensors.
bool is_causal(const Inputs& inputs, size_t first, int n) {
  for (size_t i = first + 3; i < inputs.size(); i++)
    if (inputs[i].booleans.size() == 1 && n-- == 0) return inputs[i].booleans[0];
  return false;
}

// S queries of D, T keys of D, T values of Dv, all for `rows` = B * H * S rows of queries.
Count attention_count(const TensorInput& q, const TensorInput& k, const TensorInput& v, i64 keys, bool causal) {
  double rows = q.elements() / double(q.size(0));
  double operations = 2 * rows * double(keys) * double(q.size(0) + v.size(0)) * (causal ? 0.5 : 1);
  return count(operations, q.elements() + k.elements() + v.elements() + rows * double(v.size(0)), q, q.dtype);
}

// query [B, H, S, D], key [B, H', T, D], value [B, H', T, Dv]
std::optional<Count> attention_by_flag(const Inputs& inputs, size_t first, int flag) {
  const TensorInput *q = tensor(inputs, first), *k = tensor(inputs, first + 1), *v = tensor(inputs, first + 2);
  if (!q || !k || !v || q->sizes.size() < 3 || k->sizes.size() < 3 || v->sizes.size() < 3 || q->size(0) == 0) return {};
  return attention_count(*q, *k, *v, k->size(1), is_causal(inputs, first, flag));
}
std::optional<Count> attention(const Inputs& inputs, size_t first) { return attention_by_flag(inputs, first, 0); }
// The causal flag is the second one: the first requests the logarithms of sums, or the weights.
std::optional<Count> attention_second_flag(const Inputs& inputs, size_t first) {
  return attention_by_flag(inputs, first, 1);
}

// query [B, S, H, D], key [B, T, H', D], value [B, T, H', Dv]. The lengths of packed sequences, whose offsets are in a
// tensor, do not follow from shapes.
std::optional<Count> attention_by_sequence(const Inputs& inputs, size_t first) {
  const TensorInput *q = tensor(inputs, first), *k = tensor(inputs, first + 1), *v = tensor(inputs, first + 2);
  if (!q || !k || !v || q->sizes.size() != 4 || k->sizes.size() != 4 || v->sizes.size() != 4 || !q->size(0)) return {};
  for (size_t i = first + 3; i < inputs.size(); i++)
    if (const TensorInput* t = tensor(inputs, i); t && t->sizes.size() == 1 && t->dtype == kDtypeInt) return {};
  return attention_count(*q, *k, *v, k->sizes[1], is_causal(inputs, first, 0));
}

std::optional<Count> twice(std::optional<Count> forward) {
  if (forward) forward->flops *= 2, forward->bytes *= 2;
  return forward;
}
std::optional<Count> attention_backward(const Inputs& inputs, size_t first) { return twice(attention(inputs, first)); }
std::optional<Count> attention_by_sequence_backward(const Inputs& inputs, size_t first) {
  return twice(attention_by_sequence(inputs, first));
}

// query, key, value [B, S, E]; their number of features, heads, weights [3E, E], bias, output weights [E, E]
std::optional<Count> multi_head(const Inputs& inputs, size_t first) {
  const TensorInput *q = tensor(inputs, first), *k = tensor(inputs, first + 1), *v = tensor(inputs, first + 2);
  const TensorInput* in = tensor(inputs, first + 5);
  if (!q || !k || !v || !in || q->sizes.size() != 3 || k->sizes.size() != 3 || v->sizes.size() != 3) return {};
  double features = double(q->size(0));
  if (in->sizes.size() != 2 || in->size(0) != q->size(0) || in->size(1) != 3 * q->size(0)) return {};
  double products = 2 * features * (2 * q->elements() + k->elements() + v->elements());
  return Count{products + 4 * q->elements() * double(k->sizes[1]), -1, q->dtype};
}

// source [B, S, E]; features, heads, weights [3E, E], bias, output weights, bias; three flags and numbers, four vectors
// of the norms, weights of the feed-forward layers [F, E] and [E, F], each followed by its bias
std::optional<Count> encoder_layer(const Inputs& inputs, size_t first) {
  const TensorInput *x = tensor(inputs, first), *in = tensor(inputs, first + 3);
  const TensorInput *one = tensor(inputs, first + 14), *two = tensor(inputs, first + 16);
  if (!x || !in || !one || !two || x->sizes.size() != 3 || in->sizes.size() != 2 || x->size(0) == 0) return {};
  if (in->size(1) != 3 * x->size(0) || one->sizes.size() != 2 || two->sizes.size() != 2) return {};
  double all = x->elements(), features = double(x->size(0)), rows = all / features;
  double attend = 8 * all * features + 4 * all * double(x->sizes[1]);
  return Count{attend + 2 * rows * (one->elements() + two->elements()), -1, x->dtype};
}

// Each row of the input (of [T, B, I], or of packed sequences) is multiplied with each weight of each layer and
// direction once. This holds for LSTM and GRU, whose gates are rows of the weights. `weights`: a list of tensors, some
// of which are vectors of biases.
Count recurrent_count(const TensorInput& x, double weights) {
  return {2 * x.elements() / double(x.size(0)) * weights, -1, x.dtype};
}
std::optional<Count> recurrent(const Inputs& inputs, size_t first) {
  const TensorInput* x = tensor(inputs, first);
  double weights = 0;
  for (const OpInput& input : inputs)
    for (const TensorInput& w : input.list) weights += w.sizes.size() == 2 ? w.elements() : 0;
  if (!x || x->sizes.size() < 2 || x->size(0) == 0 || weights == 0) return {};
  return recurrent_count(*x, weights);
}
std::optional<Count> recurrent_backward(const Inputs& inputs, size_t first) { return twice(recurrent(inputs, first)); }

// One layer and direction: input [T, B, I], weights [gates * H, I], weights [gates * H, H]
std::optional<Count> recurrent_layer(const Inputs& inputs, size_t first) {
  const TensorInput *x = tensor(inputs, first), *w = tensor(inputs, first + 1), *u = tensor(inputs, first + 2);
  if (!x || !w || !u || x->sizes.size() < 2 || x->size(0) == 0) return {};
  if (w->sizes.size() != 2 || u->sizes.size() != 2 || w->size(0) != x->size(0)) return {};
  return recurrent_count(*x, w->elements() + u->elements());
}
std::optional<Count> recurrent_layer_backward(const Inputs& inputs, size_t first) {
  return twice(recurrent_layer(inputs, first));
}

// input [.., I1], input [.., I2], weight [O, I1, I2]
std::optional<Count> bilinear(const Inputs& inputs, size_t first) {
  const TensorInput *a = tensor(inputs, first), *b = tensor(inputs, first + 1), *w = tensor(inputs, first + 2);
  if (!a || !b || !w || w->sizes.size() != 3 || a->size(0) != w->sizes[1] || b->size(0) != w->sizes[2]) return {};
  if (a->size(0) == 0) return {};
  double rows = a->elements() / double(a->size(0));
  return Count{2 * rows * (w->elements() + double(w->sizes[0]) * double(w->sizes[2])), -1, a->dtype};
}

// Products of groups: [M, K] x [G, K, N] grouped by rows, [G, M, K] x [K, N] by columns, [M, K] x [K, N] by the summed
// dimension, or [G, M, K] x [G, K, N]. The total does not depend on the sizes of the groups.
std::optional<Count> grouped_matrices(const Inputs& inputs, size_t first) {
  const TensorInput *a = tensor(inputs, first), *b = tensor(inputs, first + 1);
  if (!a || !b || a->sizes.size() < 2 || b->sizes.size() < 2 || a->size(0) != b->size(1)) return {};
  bool by_columns = a->sizes.size() == 3 && b->sizes.size() == 2;
  double groups = by_columns ? double(std::max<i64>(1, a->sizes[0])) : 1;
  return Count{2 * a->elements() * double(b->size(0)) / groups, -1, a->dtype};
}

// vector [K], vector [K]
std::optional<Count> dot(const Inputs& inputs, size_t first) {
  const TensorInput *a = tensor(inputs, first), *b = tensor(inputs, first + 1);
  if (!a || !b || a->sizes.size() != 1 || b->sizes != a->sizes) return {};
  return count(2 * a->elements(), a->elements() + b->elements() + 1, *a, a->dtype);
}

// vector [M], vector [N]
std::optional<Count> outer(const Inputs& inputs, size_t first) {
  const TensorInput *a = tensor(inputs, first), *b = tensor(inputs, first + 1);
  if (!a || !b || a->sizes.size() != 1 || b->sizes.size() != 1) return {};
  double output = a->elements() * b->elements();
  return count(output, a->elements() + b->elements() + output, *a, a->dtype);
}

constexpr Formula untold = nullptr;

}  // namespace

const FormulaRow* formula_of(std::string_view op) {
  static const std::unordered_map<std::string_view, FormulaRow> kRows = {
#define FORMULA(name, formula, first) {name, {formula, first}},
#include "analysis/basis/formulas.def"
#undef FORMULA
  };
  auto at = kRows.find(op);
  return at == kRows.end() ? nullptr : &at->second;
}

}  // namespace tprof
