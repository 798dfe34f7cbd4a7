// What one check of `tprof doctor` found.
#pragma once
#include <string>

namespace tprof::doctor {

enum class Verdict { ok, off, bad };  // off: absent or limited, which is not an error

struct Finding {
  Verdict verdict;
  std::string text;
};

}  // namespace tprof::doctor
