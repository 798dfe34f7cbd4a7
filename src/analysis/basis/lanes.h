// A range of the program that crosses an edge of a step is drawn in a lane, a row of its own, where nothing lies inside
// of it (model/nest.cpp). Its times are nevertheless those of what its thread did from its begin to its end.
#pragma once
#include "analysis/basis/op_tree.h"

namespace tprof {

// For threads that have such ranges, after fill_host_self() and fill_device():
//   * at each moment the self time on the host is that of the node that began last and has not ended; of steps only
//     where nothing else is open;
//   * GPU work belongs to such a range if it was launched in it, and by no node but a step that began after it;
//   * the totals of such a range are sums over what was launched in it. Those of other nodes stay what they were.
void fill_lanes(const Model& model, OpTree& tree);

}  // namespace tprof
