// Spans of one process that lie inside another: a flush, and the window that it is a part of. Their figures must not be
// added up.
#pragma once
#include <string>
#include <vector>

#include "base/types.h"

namespace tprof {

struct SpanTime {
  std::string run, worker, span;
  u64 begin_ns = 0, end_ns = 0;
};

// One line per span that lies inside another: "RUN / WORKER: span 1 lies inside span 2; ...".
std::vector<std::string> nested_spans(const std::vector<SpanTime>& spans);

// Whether `a` lies inside `b` and is a different span.
bool lies_inside(const SpanTime& a, const SpanTime& b);

}  // namespace tprof
