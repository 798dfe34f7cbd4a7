// `tprof check`: would this trace open, and what would a viewer miss? The rules are no schema: they are the observed
// behaviour of the TensorBoard profiler plugin, HTA, Perfetto and chrome://tracing (reference: trace_format.md).
#pragma once
#include <string>
#include <vector>

#include "base/types.h"

namespace tprof {

enum class Severity : u8 { error, warning, note };  // an error makes the trace invalid

struct CheckRule {
  const char* id;
  Severity severity;
  const char* text;  // what is wrong, and what viewers do then
};
const std::vector<CheckRule>& check_rules();

struct Finding {
  const CheckRule* rule;
  std::string where;  // the first place, e.g. `event 17 "aten::add"`
  u64 count = 1;      // places in all

  bool is_error() const { return rule->severity == Severity::error; }
  std::string line() const;
};

// Findings in the order of the table of rules; empty if there are none. Throws Error if the file cannot be read at all.
std::vector<Finding> check_trace(const std::string& path);

bool is_valid(const std::vector<Finding>& findings);

}  // namespace tprof
