// Device memory of programs without torch: cudaMalloc and its family become [memory] events with running totals.
//
// Our own calls come first: a release is stamped when it begins, an allocation when it is done, so that the order of
// stamps is the order in which an address changed hands, whatever threads do. CUPTI's records stand in for calls that we
// did not see, and tell the sizes of what was allocated before the recording began.
#pragma once
#include "model/trace.h"

namespace tprof {

class DeviceMemory {
 public:
  // A call of the family alloc or free, and what the Model has of it.
  void add_call(const CallRecord& record, const CallEvent& call);
  // `thread`: of the call with its correlation.
  void add_record(const GpuMemoryRecord& record, i64 ns, u32 thread);

  // Adds what lies in the span to model.memory.
  void finish(Model& model);

 private:
  struct Change {
    i64 ns;                // when the address changed hands
    i64 begin_ns, end_ns;  // of the call
    u64 address;
    u64 bytes;  // 0: unknown (a release)
    u32 thread;
    i32 device;  // -1 unknown
    bool release, physical, failed, ours;
    u32 stack = 0;  // index into Model::stacks
  };
  struct Block {
    u64 bytes;
    i32 device;
  };
  using Key = std::pair<bool, u64>;  // physical, address

  void merge();
  void settle(Model& model);

  std::vector<Change> changes_;
};

}  // namespace tprof
