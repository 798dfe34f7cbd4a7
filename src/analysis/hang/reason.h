// Why a rank does not go on, by what its process and its threads do.
#pragma once
#include "analysis/hang/verdict.h"

namespace tprof::hang {

struct Reason {
  Verdict verdict = Verdict::unknown;
  std::string detail;
  int tid = 0, worker = 0;  // as in Finding
};
Reason reason_of(const Rank& rank);

// So many bytes in a second are work; keeping a connection alive takes less.
constexpr u64 kMuchBytes = 64 << 10;

// Whether its newest events are others than a moment ago, and whether it has begun or completed a step or collective.
bool moved(const Rank& rank);
bool advanced(const Rank& rank);

}  // namespace tprof::hang
