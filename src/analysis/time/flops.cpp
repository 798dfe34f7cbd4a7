#include "analysis/time/flops.h"

#include <ctype.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "analysis/basis/formulas.h"
#include "analysis/basis/innermost.h"
#include "base/dtypes.h"
#include "base/error.h"

namespace tprof {
namespace {

// Whether an input is sparse or nested, so that its shape does not state how many elements it has. Such a tensor has no
// strides while the others have them.
bool some_not_dense(const std::vector<OpInput>& inputs) {
  bool strides = false, none = false;
  for (const OpInput& input : inputs) {
    if (!input.tensor.defined || input.tensor.sizes.empty()) continue;
    (input.tensor.has_strides ? strides : none) = true;
  }
  return strides && none;
}

// Finds the operators that count, then sums them up.
class Counter {
 public:
  Counter(const Model& model, const Windows& windows)
      : model_(model), windows_(windows), row_(model.events.size(), kFree), launches_(model.events.size()) {
    NameClasses classes(model);
    for (const CallEvent& call : model.calls)
      if (call.op >= 0 && classes.is(call, NameClass::launches)) launches_[size_t(call.op)] = true;
    for (size_t i = launches_.size(); i-- > 0;)  // parents stand before their children
      if (i32 parent = model.events[i].parent; launches_[i] && parent >= 0) launches_[size_t(parent)] = true;
  }

  Flops run() {
    std::vector<const FormulaRow*> formula(model_.names.size());
    for (size_t i = 0; i < model_.names.size(); i++) formula[i] = formula_of(model_.names[i]);
    std::vector<bool> missing(model_.events.size());
    for (u32 i = 0; i < model_.events.size(); i++) {
      const Event& e = model_.events[i];
      if (e.parent >= 0) row_[i] = row_[e.parent];
      if (!formula[e.name] || row_[i] != kFree || !windows_.holds(e.begin_ns)) continue;
      row_[i] = row_for(i, *formula[e.name]);
      missing[i] = row_[i] == kFree || row_[i] == kUntold;
      if (row_[i] < 0) continue;
      for (i32 p = e.parent; p >= 0; p = model_.events[p].parent) missing[p] = false;
    }
    count_missing(missing);
    add_gpu_time();
    add_host_time();
    finish();
    return std::move(out_);
  }

 private:
  // Values of row_ for events that are not part of a row.
  enum : i32 {
    kFree = -1,     // operators inside it may be counted
    kNothing = -2,  // part of an operator without floating-point operations
    kUntold = -3,   // part of an operator whose operations are not known
  };

  i32 row_for(u32 i, const FormulaRow& formula) {
    const Event& e = model_.events[i];
    std::vector<OpInput> inputs = inputs_of(e);
    out_.shapes_known |= !inputs.empty();
    if (!formula.formula) return kUntold;
    std::optional<OpCount> c = formula.formula(inputs, formula.first);
    if (!c) return kFree;
    if (c->flops == 0 && c->bytes == 0) return kNothing;
    if (some_not_dense(inputs)) return kUntold;
    std::string key = std::to_string(e.name) + ' ' + std::string(e.encoded_inputs());
    auto [at, added] = rows_.try_emplace(std::move(key), i32(out_.rows.size()));
    if (added) out_.rows.push_back({i, c->dtype});
    FlopsRow& row = out_.rows[size_t(at->second)];
    row.calls++;
    row.flops += c->flops;
    row.bytes = c->bytes < 0 ? -1 : row.bytes + c->bytes;
    if (!launches_[i]) row.host_ns += e.dur_ns;
    out_.total += c->flops;
    out_.counted++;
    return at->second;
  }

  // A missing operator inside another missing one is part of that.
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

  static bool known(i32 row) { return row >= 0 || row == kNothing; }

  FlopsMissing& missing_of(u32 name) {
    auto [at, added] = missing_.try_emplace(name, FlopsMissing{name});
    return at->second;
  }

  void add_gpu_time() {
    for (const GpuEvent& work : model_.gpu) {
      if (work.kind() != Kind::kernel) continue;
      i32 row = work.op < 0 ? i32(kFree) : row_[work.op];
      if (row >= 0) {
        FlopsRow& r = out_.rows[size_t(row)];
        r.gpu_ns += work.dur_ns;
        const std::string& name = model_.names[work.name];
        r.tf32 |= name.find("tf32") != name.npos || name.find("s1688gemm") != name.npos;
      }
      if (!windows_.holds(work.op < 0 ? work.begin_ns : model_.events[work.op].begin_ns)) continue;
      out_.coverage.gpu_ns += work.dur_ns;
      if (known(row))
        out_.coverage.gpu_known_ns += work.dur_ns;
      else
        missing_of(work.op < 0 ? kNone : model_.events[work.op].name).gpu_ns += work.dur_ns;
    }
  }

  void add_host_time() {
    std::vector<i64> own(model_.events.size());
    for (u32 i = 0; i < own.size(); i++) {
      const Event& e = model_.events[i];
      own[i] += e.dur_ns;
      if (e.parent >= 0) own[e.parent] -= e.dur_ns;
    }
    for (u32 i = 0; i < own.size(); i++) {
      const Event& e = model_.events[i];
      if (!is_operator(e) || !windows_.holds(e.begin_ns)) continue;
      i64 ns = std::max<i64>(own[i], 0);
      out_.coverage.host_ns += ns;
      if (known(row_[i])) {
        out_.coverage.host_known_ns += ns;
        continue;
      }
      FlopsMissing& missing = missing_of(e.name);
      missing.calls++;
      missing.host_ns += ns;
    }
  }

  void finish() {
    std::stable_sort(out_.rows.begin(), out_.rows.end(),
                     [](const FlopsRow& a, const FlopsRow& b) { return a.time_ns() > b.time_ns(); });
    for (auto& [name, missing] : missing_) out_.missing.push_back(missing);
    std::stable_sort(out_.missing.begin(), out_.missing.end(), [](const FlopsMissing& a, const FlopsMissing& b) {
      return std::pair(a.gpu_ns, a.host_ns) > std::pair(b.gpu_ns, b.host_ns);
    });
  }

  const Model& model_;
  const Windows& windows_;
  std::vector<i32> row_;  // by event: the row that counts it, or why there is none
  // By event: whether it launches GPU work. If that is not in the trace (a graph was captured), the host's time does
  // not show the operator's speed.
  std::vector<bool> launches_;
  std::unordered_map<std::string, i32> rows_;
  std::map<u32, FlopsMissing> missing_;  // by name
  Flops out_;
};

// Words are separated by anything but letters and digits.
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
  if (dtype == kDtypeFloat) return tf32_used && tf32 > 0 ? tf32 : fp32;
  if (dtype == kDtypeDouble) return fp64;
  return dtype >= kDtypeFloat8_e5m2 && dtype <= kDtypeFloat8_e4m3fnuz ? fp8 : 0;
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
      throw Error(Fault::usage, "line " + std::to_string(number) +
                                    " of the device table is not \"words; GB/s; fp64; fp32; tf32; half; fp8\"");
    out.push_back(row);
  }
#define PEAK(name, gbps, fp64, fp32, tf32, half, fp8) out.push_back({name, gbps, fp64, fp32, tf32, half, fp8});
#include "analysis/basis/devices.def"
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
