// The Overview as text and as JSON; the keys are those under which torch_tb_profiler's answers are commonly stored.
#pragma once
#include "analysis/time/overview.h"
#include "report/table.h"

namespace tprof {

// The overview of one worker and span. `workers`: how many the run has.
std::string overview_text(const Overview& overview, const Source& source, const TextStyle& style);
// median_step_time_us, beside the average: of an even number of steps the lower middle one; null with fewer than three.
Json overview_json(const Overview& overview, const Source& source, size_t workers);

// "median 10.020ms, the longest 116.000ms": how far the steps are from their average. Empty with fewer than three.
std::string spread_text(const Overview& overview);
// How many steps the average counts: "8 steps", "1 step", "7 of 8 steps".
std::string steps_text(const Overview& overview);

// What recording cost, as far as the trace shows; states what is not known.
std::string own_cost_line(const Overview& overview);

// One line for each kind of stretch outside the steps: how many, how long, which share of the trace.
// `least_percent`: of what follows a loop, only that much of the trace is worth a line.
std::vector<std::string> stretch_lines(const Overview& overview, double least_percent = 0);

// What the time in Category::other is made of.
std::string other_line(const PythonSpot& spot);

// The time of each step by category.
Table steps_table(const Overview& overview);
Json steps_json(const Overview& overview, const Source& source, const TableJson& tables);

}  // namespace tprof
