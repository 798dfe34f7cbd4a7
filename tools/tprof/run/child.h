// Runs a command to its end and collects what it prints, for `tprof doctor`. See base/child.h for starting one.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace tprof {

struct ChildResult {
  int status = -1;  // exit status, 128 + signal, 127: not started, -1: ran too long
  std::string out;  // stdout and stderr together
};

// `environment`: variables to set; an empty value removes the variable.
ChildResult run_child(const std::vector<std::string>& command,
                      const std::vector<std::pair<std::string, std::string>>& environment, int timeout_s);

}  // namespace tprof
