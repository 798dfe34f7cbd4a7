// The plugin's Distributed view as tables: what each rank did in each step, its collectives, and the GPUs of the nodes.
//
// Times are ns here, us in CSV and JSON; what is not known from the traces has no value.
#pragma once
#include "analysis/ranks/distributed_view.h"
#include "report/table.h"

namespace tprof {

// One row for the mean of each rank's steps (its step is "all"), then one for each step and rank: time computing, both,
// communicating, neither; and the time in collectives as data transfer, synchronizing, and what cannot be told apart.
Table rank_steps_table(const DistributedView& view);

// Calls, sizes and times of each rank's collectives.
Table rank_operations_table(const DistributedView& view);

// By node, process and GPU.
Table nodes_table(const DistributedView& view);

}  // namespace tprof
