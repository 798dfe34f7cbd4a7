#include "analysis/flops.h"

#include <ctype.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/dtypes.h"
#include "base/error.h"

namespace tprof {
namespace {

struct Count {
  double flops;
  double bytes;  // < 0: not known
  u8 dtype;
};
using Inputs = std::vector<OpInput>;
using Formula = std::optional<Count> (*)(const Inputs&, size_t first);

const TensorInput* tensor(const Inputs& inputs, size_t i) {
  return i < inputs.size() && inputs[i].tensor.defined ? &inputs[i].tensor : nullptr;
}

Count count(double operations, i64 elements, const TensorInput& a, u8 output) {
  u32 in = dtype_bytes(a.dtype), out = dtype_bytes(output);
  return {operations, in && out ? double(elements) * in : -1, a.dtype};
}

std::optional<Count> matrices(const Inputs& inputs, size_t first) {
  const TensorInput *a = tensor(inputs, first), *b = tensor(inputs, first + 1);
  if (!a || !b || a->sizes.size() < 2 || b->sizes.size() < 2 || a->size(0) != b->size(1)) return {};
  i64 batch = a->sizes.size() > 2 ? a->elements() / std::max<i64>(1, a->size(0) * a->size(1)) : 1;
  double output = double(batch) * double(a->size(1)) * double(b->size(0));
  return count(2 * output * double(a->size(0)), a->elements() + b->elements() + i64(output), *a, a->dtype);
}

// input [.., K], weight [N, K]
std::optional<Count> linear(const Inputs& inputs, size_t first) {
  const TensorInput *a = tensor(inputs, first), *w = tensor(inputs, first + 1);
  if (!a || !w || a->sizes.empty() || w->sizes.size() != 2 || a->size(0) != w->size(0) || a->size(0) == 0) return {};
  i64 output = a->elements() / a->size(0) * w->size(1);
  return count(2.0 * double(a->elements()) * double(w->size(1)), a->elements() + w->elements() + output, *a, a->dtype);
}

std::optional<Count> linear_vector(const Inputs& inputs, size_t first) {
  const TensorInput *a = tensor(inputs, first), *v = tensor(inputs, first + 1);
  if (!a || !v || a->sizes.size() != 2 || v->sizes.size() != 1) return {};
  return count(2.0 * double(a->elements()), a->elements() + v->elements() + a->size(1), *a, a->dtype);
}

i64 kernel_elements(const TensorInput& weight) {
  i64 product = 1;
  for (size_t i = 2; i < weight.sizes.size(); i++) product *= weight.sizes[i];
  return product;
}

// input [N, Cin, ..], weight [Cout, Cin / groups, ..], bias, stride, padding, dilation
std::optional<Count> convolution(const Inputs& inputs, size_t first) {
  const TensorInput *a = tensor(inputs, first), *w = tensor(inputs, first + 1);
  if (!a || !w || a->sizes.size() < 3 || a->sizes.size() != w->sizes.size() || inputs.size() < first + 6) return {};
  // aten::convolution and its kin have a flag `transposed` and output padding behind the dilation.
  if (first + 6 < inputs.size() && !inputs[first + 6].booleans.empty() && inputs[first + 6].booleans[0]) return {};
  size_t dims = a->sizes.size() - 2;
  auto option = [&](size_t which, size_t d) -> std::optional<i64> {
    const std::vector<i64>& list = inputs[first + which].integers;
    if (list.size() != 1 && list.size() != dims) return {};
    return list[list.size() == 1 ? 0 : d];
  };
  i64 output = a->sizes[0] * w->sizes[0];
  for (size_t d = 0; d < dims; d++) {
    std::optional<i64> stride = option(3, d), padding = option(4, d), dilation = option(5, d);
    if (!stride || !padding || !dilation || *stride <= 0) return {};
    i64 size = (a->sizes[2 + d] + 2 * *padding - *dilation * (w->sizes[2 + d] - 1) - 1) / *stride + 1;
    if (size <= 0) return {};
    output *= size;
  }
  double operations = 2.0 * double(output) * double(w->sizes[1]) * double(kernel_elements(*w));
  return count(operations, a->elements() + w->elements() + output, *a, a->dtype);
}

// Each element of the input meets each weight of its group: no output shape is needed. weight [Cin, Cout / groups, ..]
std::optional<Count> transposed_convolution(const Inputs& inputs, size_t first) {
  const TensorInput *a = tensor(inputs, first), *w = tensor(inputs, first + 1);
  if (!a || !w || a->sizes.size() < 3 || a->sizes.size() != w->sizes.size()) return {};
  Count out{2.0 * double(a->elements()) * double(w->sizes[1]) * double(kernel_elements(*w)), -1, a->dtype};
  return out;
}

// gradient of the output [N, Cout, ..], input, weight; the last list says which gradients are wanted.
std::optional<Count> convolution_backward(const Inputs& inputs, size_t first) {
  const TensorInput *g = tensor(inputs, first), *a = tensor(inputs, first + 1), *w = tensor(inputs, first + 2);
  if (!g || !a || !w || g->sizes.size() < 3 || w->sizes.size() != g->sizes.size()) return {};
  for (const OpInput& input : inputs)  // transposed is the one flag among the inputs
    if (input.booleans.size() == 1 && input.booleans[0]) return {};
  const std::vector<bool>& wanted = inputs.back().booleans;
  double gradients = wanted.size() == 3 ? double(wanted[0]) + double(wanted[1]) : 2;
  double forward = 2.0 * double(g->elements()) * double(w->sizes[1]) * double(kernel_elements(*w));
  return count(gradients * forward, g->elements() + a->elements() + w->elements(), *g, g->dtype);
}

// query [B, H, S, D], key [B, H', T, D], value [B, H', T, Dv]
std::optional<Count> attention(const Inputs& inputs, size_t first) {
  const TensorInput *q = tensor(inputs, first), *k = tensor(inputs, first + 1), *v = tensor(inputs, first + 2);
  if (!q || !k || !v || q->sizes.size() < 3 || k->sizes.size() < 3 || v->sizes.size() < 3 || q->size(0) == 0) return {};
  bool causal = false;  // the first flag behind the tensors
  for (size_t i = first + 3; i < inputs.size(); i++)
    if (inputs[i].booleans.size() == 1) {
      causal = inputs[i].booleans[0];
      break;
    }
  double rows = double(q->elements()) / double(q->size(0));  // B * H * S
  double operations = 2 * rows * double(k->size(1)) * double(q->size(0) + v->size(0)) * (causal ? 0.5 : 1);
  i64 output = i64(rows) * v->size(0);
  return count(operations, q->elements() + k->elements() + v->elements() + output, *q, q->dtype);
}

std::optional<Count> attention_backward(const Inputs& inputs, size_t first) {
  std::optional<Count> forward = attention(inputs, first);
  if (forward) forward->flops *= 2, forward->bytes *= 2;
  return forward;
}

struct Rule {
  Formula formula;
  size_t first;
};

const std::unordered_map<std::string_view, Rule>& rules() {
  static const std::unordered_map<std::string_view, Rule> kRules = {
#define FORMULA(name, formula, first) {name, {formula, first}},
#include "analysis/formulas.def"
#undef FORMULA
  };
  return kRules;
}


// Finds what is counted, then sums it up.
class Counter {
 public:
  Counter(const Model& model, const Windows& windows)
      : model_(model), windows_(windows), row_(model.events.size(), -1) {}

  Flops run() {
    std::vector<const Rule*> rule(model_.names.size());
    for (size_t i = 0; i < model_.names.size(); i++)
      if (auto at = rules().find(model_.names[i]); at != rules().end()) rule[i] = &at->second;
    std::vector<bool> missing(model_.events.size());
    for (u32 i = 0; i < model_.events.size(); i++) {
      const Event& e = model_.events[i];
      if (e.parent >= 0 && row_[e.parent] >= 0) row_[i] = row_[e.parent];
      if (!rule[e.name] || row_[i] >= 0 || !windows_.holds(e.begin_ns)) continue;
      if (!add(i, *rule[e.name])) {
        missing[i] = true;
        continue;
      }
      for (i32 p = e.parent; p >= 0; p = model_.events[p].parent) missing[p] = false;
    }
    count_missing(missing);
    add_gpu_time();
    std::stable_sort(out_.rows.begin(), out_.rows.end(),
                     [](const FlopsRow& a, const FlopsRow& b) { return a.time_ns() > b.time_ns(); });
    return std::move(out_);
  }

 private:
  bool add(u32 i, const Rule& rule) {
    const Event& e = model_.events[i];
    Inputs inputs = inputs_of(e);
    out_.shapes_known |= !inputs.empty();
    std::optional<Count> c = rule.formula(inputs, rule.first);
    if (!c) return false;
    std::string key = std::to_string(e.name) + ' ' + std::string(e.inputs, e.inputs_bytes);
    auto [at, added] = rows_.try_emplace(std::move(key), i32(out_.rows.size()));
    if (added) out_.rows.push_back({i, c->dtype});
    FlopsRow& row = out_.rows[size_t(at->second)];
    row_[i] = at->second;
    row.calls++;
    row.flops += c->flops;
    row.bytes = c->bytes < 0 ? -1 : row.bytes + c->bytes;
    row.host_ns += e.dur_ns;
    out_.total += c->flops;
    out_.counted++;
    return true;
  }

  // One that lies in another that is missing is part of it.
  void count_missing(const std::vector<bool>& missing) {
    for (u32 i = 0; i < missing.size(); i++) {
      if (!missing[i]) continue;
      i32 p = model_.events[i].parent;
      while (p >= 0 && !missing[p]) p = model_.events[p].parent;
      if (p >= 0) continue;
      out_.unknown++;
      out_.unknown_by_name[model_.name_of(model_.events[i])]++;
    }
  }

  void add_gpu_time() {
    for (const GpuEvent& work : model_.gpu) {
      if (work.kind() != Kind::kernel || work.op < 0 || row_[work.op] < 0) continue;
      FlopsRow& row = out_.rows[size_t(row_[work.op])];
      row.gpu_ns += work.dur_ns;
      const std::string& name = model_.names[work.name];
      row.tf32 |= name.find("tf32") != name.npos || name.find("s1688gemm") != name.npos;
    }
  }

  const Model& model_;
  const Windows& windows_;
  std::vector<i32> row_;  // by event: the row that counts it, -1 none
  std::unordered_map<std::string, i32> rows_;
  Flops out_;
};

constexpr u8 kFloat = 6, kDouble = 7;

// Between anything but letters and digits.
bool has_word(std::string_view text, std::string_view word) {
  auto bounds = [&](size_t at) { return at >= text.size() || !isalnum(static_cast<unsigned char>(text[at])); };
  for (size_t at = 0; (at = text.find(word, at)) != text.npos; at++)
    if ((at == 0 || bounds(at - 1)) && bounds(at + word.size())) return true;
  return false;
}

}  // namespace

bool DevicePeak::matches(std::string_view device) const {
  for (size_t at = 0; at < name.size();) {
    size_t end = std::min(name.find(' ', at), name.size());
    if (end > at && !has_word(device, std::string_view(name).substr(at, end - at))) return false;
    at = end + 1;
  }
  return !name.empty();
}

double DevicePeak::peak(u8 dtype, bool tf32_used) const {
  if (is_half(dtype)) return half;
  if (dtype == kFloat) return tf32_used && tf32 > 0 ? tf32 : fp32;
  if (dtype == kDouble) return fp64;
  return dtype >= 23 && dtype <= 26 ? fp8 : 0;
}

std::vector<DevicePeak> device_table(const std::string& own) {
  std::vector<DevicePeak> out;
  int number = 0;
  for (size_t at = 0; at < own.size();) {
    size_t end = std::min(own.find('\n', at), own.size());
    std::string line = own.substr(at, std::min(own.find('#', at), end) - at);
    at = end + 1;
    number++;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    DevicePeak row;
    double* const fields[] = {&row.bytes_gbps, &row.fp64, &row.fp32, &row.tf32, &row.half, &row.fp8};
    size_t from = line.find(';');
    row.name = line.substr(0, from);
    bool good = from != line.npos;
    for (double* field : fields) {
      if (!good) break;
      size_t to = std::min(line.find(';', from + 1), line.size());
      char* rest;
      std::string text = line.substr(from + 1, to - from - 1);
      *field = strtod(text.c_str(), &rest);
      good = rest != text.c_str() && std::string_view(rest).find_first_not_of(" \t\r") == std::string_view::npos &&
             *field >= 0 && (to < line.size() || field == fields[5]);
      from = to;
    }
    if (!good)
      throw Error(kExitUsage, "line " + std::to_string(number) +
                                  " of the device table is not \"words; GB/s; fp64; fp32; tf32; half; fp8\"");
    out.push_back(row);
  }
#define PEAK(name, gbps, fp64, fp32, tf32, half, fp8) out.push_back({name, gbps, fp64, fp32, tf32, half, fp8});
#include "analysis/devices.def"
#undef PEAK
  return out;
}

const DevicePeak* find_peak(const std::vector<DevicePeak>& table, std::string_view device) {
  for (const DevicePeak& row : table)
    if (row.matches(device)) return &row;
  return nullptr;
}

double Flops::of_roof(const FlopsRow& row) const {
  if (!peak || !row.gpu_ns) return -1;
  double compute = peak->peak(row.dtype, row.tf32);
  double bytes = row.bytes > 0 && peak->bytes_gbps > 0 ? peak->bytes_gbps * row.flops / row.bytes / 1e3 : compute;
  double roof = std::min(compute, bytes);
  return roof > 0 ? row.tflops() / roof : -1;
}

bool Flops::memory_bound(const FlopsRow& row) const {
  return peak && row.bytes > 0 && peak->bytes_gbps > 0 &&
         peak->bytes_gbps * row.flops / row.bytes / 1e3 < peak->peak(row.dtype, row.tf32);
}

Flops flops(const Model& model, const Windows& windows, const std::vector<DevicePeak>& table) {
  Flops out = Counter(model, windows).run();
  double seconds = double(windows.time.length()) * 1e-9;
  if (out.counted && seconds > 0) out.tflops = out.total / seconds / 1e12;
  std::set<u32> devices;
  for (const GpuEvent& work : model.gpu)
    if (work.kind() == Kind::kernel) devices.insert(work.device);
  auto known = devices.empty() ? model.devices.end() : model.devices.find(*devices.begin());
  if (known == model.devices.end()) return out;
  out.peak = find_peak(table, known->second.name);
  if (!out.peak || !out.counted || seconds <= 0) return out;
  double time = 0;
  for (const FlopsRow& row : out.rows) {
    double peak = out.peak->peak(row.dtype, row.tf32);
    if (peak <= 0) return out;
    time += row.flops / peak / 1e12;
  }
  out.mfu = time / seconds / double(devices.size());
  return out;
}

}  // namespace tprof
