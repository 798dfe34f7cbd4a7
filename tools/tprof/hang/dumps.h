// Dumps of PyTorch's own flight recorder: the last collectives of each rank, as the process groups count them. NCCL's
// group writes one for each rank when a collective has timed out; a script may write them by
// torch._C._distributed_c10d._dump_fr_trace() or _dump_fr_trace_json().
#pragma once
#include <string>
#include <vector>

#include "model/recent.h"

namespace tprof::hang {

struct Dump {
  i32 rank = -1;
  Recent recent;
  i64 age_ns = 0;  // of the file
};

// A pickle or JSON file of format 2. Its rank is the number at the end of its name. Throws Error(Fault::unreadable).
Dump read_dump(const std::string& path);

// Whether a file is one by its name: nccl_trace_rank_0, fr_trace_rank_0.json ...
bool is_dump_name(const std::string& name);

}  // namespace tprof::hang
