#include "analysis/tensor_cores.h"

#include <algorithm>

namespace tprof {
namespace {

enum By : u8 { ours = 1, plugin = 2, both = 3 };

struct Row {
  By by;
  std::string_view text;
};

constexpr Row kKernels[] = {
#define KERNEL(by, part) {by, part},
#define EXCEPT(part)
#define OP(by, name)
#include "analysis/tensor_cores.def"
#undef KERNEL
#undef EXCEPT
#undef OP
};

constexpr std::string_view kExcept[] = {
#define KERNEL(by, part)
#define EXCEPT(part) part,
#define OP(by, name)
#include "analysis/tensor_cores.def"
#undef KERNEL
#undef EXCEPT
#undef OP
};

constexpr Row kOps[] = {
#define KERNEL(by, part)
#define EXCEPT(part)
#define OP(by, name) {by, name},
#include "analysis/tensor_cores.def"
#undef KERNEL
#undef EXCEPT
#undef OP
};

bool is_by(By by, Rules rules) { return by & static_cast<u8>(rules); }

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace

bool kernel_uses_tensor_cores(std::string_view kernel, Rules rules) {
  auto uses = [&](const Row& row) { return is_by(row.by, rules) && contains(kernel, row.text); };
  auto excepted = [&](std::string_view part) { return contains(kernel, part); };
  return std::any_of(std::begin(kKernels), std::end(kKernels), uses) &&
         (rules == Rules::plugin || std::none_of(std::begin(kExcept), std::end(kExcept), excepted));
}

bool op_is_tensor_core_eligible(std::string_view op, Rules rules) {
  return std::any_of(std::begin(kOps), std::end(kOps),
                     [&](const Row& row) { return is_by(row.by, rules) && row.text == op; });
}

}  // namespace tprof
