// The operations of NCCL: calls that interposed functions have seen, what NCCL told its profiler of them, and the
// kernels that carry them out.
#pragma once
#include <map>

#include "base/nccl.h"
#include "model/trace.h"

namespace tprof {

// Of an Event with kEventNccl.
struct NcclDetail {
  u64 group = 0;  // of the communicator; 0 not known
  i64 number = -1;
  i64 count = 0;
  i64 network_ns = -1;
  i32 peer = -1, rank = -1;
  u32 ranks = 0;
  u8 type = kNcclUnknown;                                // ncclDataType_t
  u8 algorithm = kNcclUnknown, protocol = kNcclUnknown;  // rows of base/nccl.def, from NCCL's profiler interface
  bool reported = false;                                 // by that interface
  bool called = true;                                    // by an interposed function; else the event has no duration
};
NcclDetail nccl_detail(const NcclPart& part, const CallRecord& call);

struct NcclReports {
  struct Operation {
    i64 ns;
    u32 thread;  // index into Model::threads
    NcclOpRecord record;
  };
  struct Wire {
    i64 begin_ns, end_ns;
  };
  std::vector<Operation> operations;
  std::map<u32, std::vector<Wire>> wires;  // by the operation's number
};

// What NCCL reports of a call that was seen is added to it. What it reports beyond that becomes an event of its own.
// Before nest_events().
void join_nccl_reports(Model& model, NcclReports& reports);

// A call that launched kernels: of operations, or the end of their group.
struct NcclLaunch {
  u32 owner = 0;  // OS thread
  i64 begin_ns = 0, end_ns = 0;
  std::vector<u32> operations;  // events, in order of their calls
};
// `order`: events in order of their begins.
std::vector<NcclLaunch> nccl_launches(const Model& model, const std::vector<u32>& order);

// Adds the operations to Model::collectives with their kernels. An operator of torch.distributed around a call stands
// for it. After find_collectives().
void find_nccl_operations(Model& model);

}  // namespace tprof
