// `tprof check`: would this trace open, and what would a viewer miss? The rules are what the TensorBoard
// profiler plugin, HTA, Perfetto and chrome://tracing were seen to do (reference: trace_format.md), not a
// schema.
#pragma once
#include <string>
#include <vector>

#include "base/types.h"

namespace tprof {

enum class Severity : u8 { error, warning, note };  // an error makes the trace invalid

struct CheckRule {
  const char* id;
  Severity severity;
  const char* text;  // what the viewer does with it
};
const std::vector<CheckRule>& check_rules();

struct Finding {
  const CheckRule* rule;
  std::string where;  // the first place, e.g. `event 17 "aten::add"`
  u64 count = 1;      // places in all

  bool is_error() const { return rule->severity == Severity::error; }
  std::string line() const;
};

// Findings in order of the rules table; empty: nothing to say. A file that cannot be read at all throws
// Error.
std::vector<Finding> check_trace(const std::string& path);

bool is_valid(const std::vector<Finding>& findings);

}  // namespace tprof
