// Loads the GPU side of a span: calls into CUDA, CUPTI's records, and device memory of programs without torch.
//
// All records of CUPTI, and the interposed calls in and around the span, are collected first, since GPU records come
// late and in any order. finish() then merges calls that were seen twice, decides what belongs to the span and adds it
// to the Model.
#pragma once
#include "model/calls.h"
#include "model/clock_map.h"
#include "model/gpu/memory.h"
#include "model/stacks.h"
#include "model/tables.h"

namespace tprof {

class GpuLoader {
 public:
  // `offset_ns`: from CLOCK_MONOTONIC to the Model's time. Events between `warmup_ns` and the start of the span are
  // discarded warm-up.
  GpuLoader(Model& model, const Meta& meta, const ClockMap& clock, NameTable& names, ThreadTable& threads,
            StackTable& stacks, i64 offset_ns, i64 warmup_ns)
      : model_(model),
        meta_(meta),
        clock_(clock),
        names_(names),
        threads_(threads),
        stacks_(stacks),
        offset_ns_(offset_ns),
        warmup_ns_(warmup_ns),
        calls_(model) {}

  // Takes a record; returns false for one that is not of the GPU side. Calls into NCCL are ranges and not taken.
  bool add(const RecordView& view);
  // Takes the end of a call whose record is in an earlier chunk; returns false if there is no such call.
  bool end(RecordRef begin, u64 ticks);

  // torch's allocators report device memory themselves; what they get from CUDA is then no allocation of the program.
  void torch_reports_memory() { derive_memory_ = false; }

  void finish();

 private:
  struct Activity {
    GpuEvent event;
    u32 epoch;
  };
  struct OpenCall {
    CallRecord record;
    u32 tid;
  };
  struct MemoryActivity {
    GpuMemoryRecord record;
    u32 epoch;
  };

  i64 of_ticks(u64 ticks) const { return clock_.monotonic_ns(ticks) + offset_ns_; }
  bool times_of(u64 begin_ns, u64 end_ns, i64& begin, i64& dur) const;
  bool in_span(i64 ns);

  void add_call(const CallRecord& record, u32 tid, bool unfinished);
  void add_api(const RecordView& view);
  template <class T>
  void add_activity(const RecordView& view, u64 begin_ns, u64 end_ns, const GpuPlace& place);
  void drop_duplicates();
  bool belongs(const Activity& activity, u32 first, u32 last);
  bool keep(GpuEvent& event);
  bool place_on_device(GpuEvent& event);
  void link_waits();
  void add_memory(const std::vector<CallEvent>& calls, const std::vector<std::pair<u32, u32>>& launches);
  u32 renamed(u32 name, std::unordered_map<u32, u32>& known, std::string (*change)(const std::string&));
  u32 demangled(u32 name);
  u32 shown(u32 name);

  std::unordered_map<RecordRef, OpenCall> open_calls_;
  Model& model_;
  const Meta& meta_;
  const ClockMap& clock_;
  NameTable& names_;
  ThreadTable& threads_;
  StackTable& stacks_;
  i64 offset_ns_, warmup_ns_;
  CallMerger calls_;
  std::vector<Activity> activities_;
  std::vector<GpuEvent> event_records_;  // records of cudaEventRecord, of any window
  DeviceMemory memory_;
  std::vector<MemoryActivity> memory_activities_;
  bool derive_memory_ = true;
  std::unordered_map<u32, u32> demangled_, shown_;  // name -> name
};

}  // namespace tprof
