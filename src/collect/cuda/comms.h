// The communicators of NCCL that the program has: a number for each that all its ranks agree on, and how many
// collectives were called on it. No lock; a table of fixed size.
#pragma once
#include "record/record.h"

namespace tprof {

constexpr NcclPart no_comm() { return {0, -1, -1, -1, 0, 0}; }

// The number of a communicator: of the unique ids that its ranks were given, or of what it is made of.
u64 comm_group(const void* ids, size_t bytes);
// `way` is what its ranks have in common and others do not: a colour.
u64 comm_part(void* from, u64 way);

// ranks 0, rank -1: not known yet. A null `comm` is none.
NcclPart comm_made(void* comm, u64 group, u32 ranks, i32 rank);
void comm_placed(void* comm, u32 ranks, i32 rank);
// A call on it; counted if all its ranks make it.
NcclPart comm_called(void* comm, i32 peer, bool counted);
// Before the call that ends it: another one may get its address.
NcclPart comm_gone(void* comm);

}  // namespace tprof
