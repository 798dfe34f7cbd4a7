// An argument of an event in traces.
#pragma once
#include <string>
#include <vector>

namespace tprof::kineto {

struct Argument {
  const char* key;
  std::string value;       // as plain text
  bool is_number = false;  // in JSON
};

}  // namespace tprof::kineto
