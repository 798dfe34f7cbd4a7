// Which kernels compute on tensor cores, and which operators could: by name, from tensor_cores.def.
#pragma once
#include <string_view>

#include "analysis/rules.h"
#include "model/trace.h"

namespace tprof {

bool kernel_uses_tensor_cores(std::string_view kernel, Rules rules);
bool op_is_tensor_core_eligible(std::string_view op, Rules rules);

// The same of the names of a Model, each looked at once. The Model must outlive this.
class TensorCoreNames {
 public:
  TensorCoreNames(const Model& model, Rules rules) : model_(model), rules_(rules) {}

  bool kernel(u32 name) { return ask(kernels_, name, kernel_uses_tensor_cores); }
  bool op(u32 name) { return ask(ops_, name, op_is_tensor_core_eligible); }

 private:
  enum : u8 { kUnasked, kNo, kYes };
  bool ask(std::vector<u8>& known, u32 name, bool (*question)(std::string_view, Rules)) {
    if (known.size() <= name) known.resize(model_.names.size(), kUnasked);
    if (known[name] == kUnasked) known[name] = question(model_.names[name], rules_) ? kYes : kNo;
    return known[name] == kYes;
  }

  const Model& model_;
  Rules rules_;
  std::vector<u8> kernels_, ops_;
};

}  // namespace tprof
