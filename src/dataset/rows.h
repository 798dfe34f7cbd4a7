// The rows of each table: what analyses found of a trace, and of the ranks of a job.
#pragma once
#include <array>
#include <map>
#include <string>

#include "analysis/ranks/distributed.h"
#include "dataset/store.h"

namespace tprof::dataset {

// Rows that were written, by Table.
using RowCounts = std::array<u64, kTables>;

// All tables but step and collective.
void write_trace(Store& store, const Origin& origin, const Model& model, RowCounts& counts);

// The tables step and collective of the ranks of a job. `origins` by rank, as `ranks`, of which `found` was computed.
void write_ranks(Store& store, const std::vector<Origin>& origins, const std::vector<Rank>& ranks,
                 const Distributed& found, RowCounts& counts);

}  // namespace tprof::dataset
