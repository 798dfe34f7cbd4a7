#include "run/nested.h"

#include <algorithm>

namespace tprof {

bool lies_inside(const SpanTime& a, const SpanTime& b) {
  bool same_process = a.run == b.run && a.worker == b.worker && a.span != b.span;
  bool shorter = a.end_ns - a.begin_ns < b.end_ns - b.begin_ns;
  return same_process && shorter && a.begin_ns >= b.begin_ns && a.end_ns <= b.end_ns;
}

std::vector<std::string> nested_spans(const std::vector<SpanTime>& spans) {
  std::vector<std::string> out;
  for (const SpanTime& span : spans) {
    auto around =
        std::find_if(spans.begin(), spans.end(), [&](const SpanTime& other) { return lies_inside(span, other); });
    if (around == spans.end()) continue;
    out.push_back(span.run + " / " + span.worker + ": span " + span.span + " lies inside span " + around->span +
                  "; do not add up their figures");
  }
  return out;
}

}  // namespace tprof
