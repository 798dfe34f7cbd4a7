// The workers of DataLoaders, and the program's wait for them.
#pragma once
#include "analysis/time/loaders.h"
#include "report/table.h"

namespace tprof {

// A row for each worker; below, for each loader, what the program waited and why.
Table loaders_table(const std::vector<LoaderUse>& uses);
// A row for each loader: how the program's wait divides.
Table loader_waits_table(const std::vector<LoaderUse>& uses);

}  // namespace tprof
