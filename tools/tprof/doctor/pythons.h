// Which Python a user's programs run with: the one with torch that comes first where shells and environments look.
#pragma once
#include <string>
#include <vector>

namespace tprof::doctor {

struct Python {
  std::string path, found;  // found: "python on PATH"; empty if the user named it
  std::string why_not;      // why it does not run, with its name; empty: it does
  std::string version;
  bool has_torch = false;
};

// Those that were named, or else all down to the first one with torch. Nothing is imported for that.
std::vector<Python> find_pythons(const std::vector<std::string>& named);

}  // namespace tprof::doctor
