#include "analysis/basis/tensor_cores.h"

#include <ctype.h>

#include <algorithm>

namespace tprof {
namespace {

enum By : u8 { ours = 1, plugin = 2, both = 3, amd = 4, all = 5 };
enum class Says : u8 { never, uses, plain, untold };  // in the order in which they are asked

struct Row {
  Says says;
  By by;
  std::string_view text;
};

constexpr Row kKernels[] = {
#define KERNEL(by, part) {Says::uses, by, part},
#define EXCEPT(by, part) {Says::never, by, part},
#define PLAIN(by, part) {Says::plain, by, part},
#define UNTOLD(by, part) {Says::untold, by, part},
#define OP(by, name)
#include "analysis/basis/tensor_cores.def"
#undef KERNEL
#undef EXCEPT
#undef PLAIN
#undef UNTOLD
#undef OP
};

struct OpRow {
  By by;
  std::string_view name;
};

constexpr OpRow kOps[] = {
#define KERNEL(by, part)
#define EXCEPT(by, part)
#define PLAIN(by, part)
#define UNTOLD(by, part)
#define OP(by, name) {by, name},
#include "analysis/basis/tensor_cores.def"
#undef KERNEL
#undef EXCEPT
#undef PLAIN
#undef UNTOLD
#undef OP
};

// A '*' of `part` stands for anything.
bool contains(std::string_view text, std::string_view part) {
  for (size_t at = 0;;) {
    size_t star = std::min(part.find('*'), part.size());
    size_t found = text.find(part.substr(0, star), at);
    if (found == text.npos || star == part.size()) return found != text.npos;
    at = found + star;
    part.remove_prefix(star + 1);
  }
}

// Whether the name is a plain identifier: the kernel is written in Triton, a DSL or assembly. Names of C++ kernels have
// parameters or are mangled.
bool is_bare(std::string_view kernel) {
  return !kernel.starts_with("_Z") && std::all_of(kernel.begin(), kernel.end(), [](unsigned char c) {
    return isalnum(c) || c == '_' || c == '.' || c == '$';
  });
}

}  // namespace

TensorCoreUse kernel_uses_tensor_cores(std::string_view kernel, RuleSet rules, Vendor vendor) {
  if (rules == RuleSet::tprof && vendor == Vendor::other) return TensorCoreUse::unknown;
  u8 who = rules == RuleSet::plugin ? plugin : vendor == Vendor::amd ? amd : ours;
  auto is = [&](Says says) {
    return std::any_of(std::begin(kKernels), std::end(kKernels), [&](const Row& row) {
      return row.says == says && (row.by & who) && contains(kernel, row.text);
    });
  };
  if (is(Says::never)) return TensorCoreUse::no;
  if (is(Says::uses)) return TensorCoreUse::yes;
  if (rules == RuleSet::plugin || is(Says::plain)) return TensorCoreUse::no;
  return is(Says::untold) || is_bare(kernel) ? TensorCoreUse::unknown : TensorCoreUse::no;
}

bool op_is_tensor_core_eligible(std::string_view op, RuleSet rules) {
  return std::any_of(std::begin(kOps), std::end(kOps),
                     [&](const OpRow& row) { return (row.by & u8(rules)) && row.name == op; });
}

TensorCoreNames::TensorCoreNames(const Model& model, RuleSet rules)
    : model_(model), rules_(rules), vendor_(vendor_of(model)), kernels_(model.names.size()), ops_(model.names.size()) {
  // Tensor cores exist from Volta on, compute capability 7.0.
  none_ = rules == RuleSet::tprof && vendor_ == Vendor::nvidia && !model.devices.empty() &&
          std::all_of(model.devices.begin(), model.devices.end(), [](const auto& entry) {
            return entry.second.compute_major > 0 && entry.second.compute_major < 7;
          });
}

TensorCoreUse TensorCoreNames::answer(u32 name) {
  if (none_) return TensorCoreUse::no;
  if (!kernels_[name]) kernels_[name] = u8(1 + u8(kernel_uses_tensor_cores(model_.names[name], rules_, vendor_)));
  return static_cast<TensorCoreUse>(kernels_[name] - 1);
}

bool TensorCoreNames::op(u32 name) {
  if (!ops_[name]) ops_[name] = op_is_tensor_core_eligible(model_.names[name], rules_) ? 2 : 1;
  return ops_[name] == 2;
}

}  // namespace tprof
