// Spans of one process of which one holds another: a flush and the window that it was a part of. Their figures must not
// be added up.
#pragma once
#include <string>
#include <vector>

#include "base/types.h"

namespace tprof {

struct SpanTime {
  std::string run, worker, span;
  u64 begin_ns = 0, end_ns = 0;
};

// "span 1 lies inside span 2", by run and worker; one inside several is named with the first.
std::vector<std::string> nested_spans(const std::vector<SpanTime>& spans);

// Whether `a` lies inside `b`, and is not the same.
bool lies_inside(const SpanTime& a, const SpanTime& b);

}  // namespace tprof
