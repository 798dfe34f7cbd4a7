// Collectives as a table: `tprof stats --by comm`, and who keeps others waiting.
#pragma once
#include "analysis/distributed.h"
#include "report/table.h"

namespace tprof {

// Calls, bytes, time, transfer and waiting, bandwidths, by operator and group.
Table communication_table(const Distributed& distributed);

// By rank: computing, communicating, both; waiting for others, and others for it.
Table ranks_table(const Distributed& distributed, const std::vector<Rank>& ranks);

// One line per straggler: what a step of the others waits for it.
std::vector<std::string> straggler_lines(const Distributed& distributed, const std::vector<Rank>& ranks);

}  // namespace tprof
