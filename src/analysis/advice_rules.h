// For the files that hold the rules of advice.def: their declarations and what several of them need.
#pragma once
#include <algorithm>

#include "analysis/advice.h"
#include "analysis/innermost.h"

namespace tprof::rules {

#define RULE(function, id, moderate, high, title, fix, link) std::optional<Match> function(const Facts& facts);
#include "analysis/advice.def"
#undef RULE

std::string ms(double ns);      // "1.23 ms"
std::string percent(double share);  // "12.3 %"
std::string mib(double bytes);  // "1.5 GiB", "12.0 MiB"

constexpr size_t kMostEvidence = 5;

// Collects the events that weigh most.
class Heaviest {
 public:
  explicit Heaviest(Evidence::Of of) : of_(of) {}
  void add(i64 weight, u32 index) { all_.push_back({weight, index}); }
  std::vector<Evidence> take();

 private:
  Evidence::Of of_;
  std::vector<std::pair<i64, u32>> all_;
};

}  // namespace tprof::rules
