// The half page that `tprof run` ends with: step, breakdown, top operators, top findings, what recording cost.
#pragma once
#include "analysis/advice/advice.h"
#include "analysis/tables/operators.h"
#include "report/table.h"

namespace tprof {

struct SummarySubject {
  std::string covers;                // if it is about less than the run: a sentence, with which the page begins
  std::vector<std::string> waiting;  // of several ranks, who waits for whom: comes next
  std::string which;  // of several traces, which this is: "rank 3 of 8, the slowest one"; empty: there is one
  u64 dropped = 0;    // events that were not recorded
  std::string more;   // where to read on
};

// What is known of a trace of which only the steps were read.
struct StepsSubject {
  std::vector<StepTimes> steps;  // those that count, without categories
  size_t all = 0;                // with those that do not count
  double span_us = 0;            // of the trace
  double waited = -1;            // as in Facts
};

constexpr size_t kSummaryOperators = 5, kSummaryFindings = 3;

// At most about 26 lines, indented by two; empty when the trace has nothing to tell.
std::string summary_text(const Facts& facts, const std::vector<Advice>& advice, const Operators& operators,
                         const SummarySubject& subject, TextStyle style);
std::string steps_summary_text(const StepsSubject& steps, const SummarySubject& subject, TextStyle style);

}  // namespace tprof
