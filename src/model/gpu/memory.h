// Device memory of programs without torch: calls of the cudaMalloc family become [memory] events with running totals.
//
// Interposed calls are preferred: a release is stamped when it begins and an allocation when it is done, so that the
// order of stamps is the order in which an address was freed and allocated again, on whatever threads. CUPTI's records
// are used for calls that were not interposed, and for the sizes of what was allocated before the recording began.
#pragma once
#include "model/trace.h"

namespace tprof {

class DeviceMemory {
 public:
  // A call of the family alloc or free, and its event in the Model.
  void add_call(const CallRecord& record, const CallEvent& call);
  // `thread`: that of the call with the correlation of the record.
  void add_record(const GpuMemoryRecord& record, i64 ns, u32 thread);

  // Adds the events of the span to model.memory.
  void finish(Model& model);

 private:
  struct Change {
    i64 ns;                // when the address was allocated or freed
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
  void add_events(Model& model);

  std::vector<Change> changes_;
};

}  // namespace tprof
