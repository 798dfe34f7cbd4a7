// Runs a command to its end and collects what it prints, for `tprof doctor`. See base/child.h for starting one.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace tprof {

struct ChildResult {
  int status = -1;  // exit status, 128 + signal, 127: not started, -1: ran too long
  int signal = 0;   // that ended it by itself
  std::string out;  // stdout and stderr together

  std::string last_line() const;  // of what it printed, where a program usually says why it failed
};

// `environment`: variables to set; an empty value removes the variable.
ChildResult run_child(const std::vector<std::string>& command,
                      const std::vector<std::pair<std::string, std::string>>& environment, int timeout_s);

}  // namespace tprof
