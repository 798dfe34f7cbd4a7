// Which kernels compute on tensor cores (AMD: matrix cores), and which operators could: by name, from
// tensor_cores.def. Not every name shows it.
#pragma once
#include <string_view>

#include "analysis/basis/rule_set.h"
#include "analysis/basis/vendor.h"

namespace tprof {

enum class TensorCoreUse : u8 { no, yes, unknown };

// By the plugin's rules the answer is never `unknown` and does not depend on the vendor.
TensorCoreUse kernel_uses_tensor_cores(std::string_view kernel, RuleSet rules, Vendor vendor = Vendor::nvidia);
bool op_is_tensor_core_eligible(std::string_view op, RuleSet rules);

// The same for the names of a Model, each looked up once. The Model must outlive this.
class TensorCoreNames {
 public:
  TensorCoreNames(const Model& model, RuleSet rules);

  TensorCoreUse answer(u32 name);  // for a kernel
  bool kernel(u32 name) { return answer(name) == TensorCoreUse::yes; }
  bool op(u32 name);

 private:
  const Model& model_;
  RuleSet rules_;
  Vendor vendor_;
  bool none_;                      // no device has tensor cores
  std::vector<u8> kernels_, ops_;  // by name: 0: not looked up yet, else 1 + the answer
};

}  // namespace tprof
