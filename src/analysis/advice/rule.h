// The rules of advice.def, and what the files that hold them share.
#pragma once
#include <algorithm>

#include "analysis/advice/cost.h"
#include "analysis/advice/evidence.h"
#include "analysis/basis/innermost.h"
#include "analysis/basis/printed.h"

namespace tprof::rules {

#define RULE(function, id, moderate, high, title, fix, link) std::optional<Match> function(const Facts& facts);
#include "analysis/advice/advice.def"
#undef RULE

std::string ms(double ns);      // "1.23 ms"
std::string mib(double bytes);  // "1.5 GiB", "12.0 MiB"

constexpr i64 kFirstLaunchNs = 1'000'000;  // a launch takes some us; longer ones load code or wait for a full queue

}  // namespace tprof::rules
