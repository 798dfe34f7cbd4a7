// Collectives as a table: `tprof stats --by comm`, and who keeps others waiting.
#pragma once
#include "analysis/ranks/distributed.h"
#include "report/table.h"

namespace tprof {

// Calls, bytes, time, transfer and waiting, bandwidths, by operator and group.
Table communication_table(const Distributed& distributed);

// By rank: computing, communicating, both; waiting for others, and others for it.
Table ranks_table(const Distributed& distributed, const std::vector<Rank>& ranks);

// Ranks that wait a larger share of their time than this are spoken of.
constexpr double kWaitShare = 0.05;

// Who waits in collectives, how long and for whom, and which ranks are stragglers, or why that is not known. Empty:
// nobody waits for long.
std::vector<std::string> waiting_lines(const Distributed& distributed, const std::vector<Rank>& ranks);

}  // namespace tprof
