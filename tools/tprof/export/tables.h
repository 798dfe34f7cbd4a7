// `tprof export --to parquet|sqlite`: the tables of dataset/schema.def.
#pragma once
#include <memory>
#include <string>

#include "dataset/store.h"
#include "input/inputs.h"

namespace tprof {

// One trace is in memory at a time, and of all of them what is kept of a rank (Rank).
int write_tables(Inputs& inputs, const std::string& out,
                 std::unique_ptr<dataset::Store> (*make)(const std::string& out));

}  // namespace tprof
