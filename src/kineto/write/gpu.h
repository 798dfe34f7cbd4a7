// The GPU side of a trace, with the names, categories and arguments of libkineto: calls into CUDA in the rows of
// threads, GPU activities in the rows of streams, and the arrows between them.
#pragma once
#include "kineto/collectives.h"
#include "kineto/write/lines.h"
#include "kineto/write/stacks.h"

namespace tprof::kineto {

// The top-level deviceProperties. Readers index it by device number, so every device in the trace has an entry.
Json device_properties(const Model& model);

// The row of waits for a stream; kNone: of waits without a stream.
i64 sync_row(u32 stream);

class GpuWriter {
 public:
  GpuWriter(const Model& model, Lines& lines, StackText& stacks, const CollectiveArguments& collectives,
            OutputFile& out)
      : model_(model),
        lines_(lines),
        stacks_(stacks),
        collectives_(collectives),
        out_(out),
        next_flow_(model.pairs.size() + 1) {}

  void put_metadata();
  void put_events();
  // "GPU 0 Utilization" and "GPU 0 Est. SM Efficiency", 0 to 1, as torch_tb_profiler calls them (model/gpu/series.h):
  // at most 101 events each.
  void put_counters();

 private:
  void put_counter(u32 device, const char* what, const char* key, i64 ns, double value);
  void put_call(const CallEvent& call);
  void put_event(const GpuEvent& event);
  void put_kernel(const GpuEvent& event);
  void put_copy(const GpuEvent& event);
  void put_set(const GpuEvent& event);
  void put_graph(const GpuEvent& event);
  void put_sync(const GpuEvent& event);
  void put_event_record(const GpuEvent& event);
  void put_overhead(const GpuEvent& event);

  // The start of an event, up to its args: `{"ph": "X", ... "args": {"External id": N, `.
  void open(const char* category, std::string_view name_json, i64 pid, i64 tid, const GpuEvent& event);
  void put_arg(const char* key, i64 value);
  void put_arg(const char* key, float value);
  void put_device_and_stream(const GpuEvent& event);
  void put_size(u64 bytes, const GpuEvent& event);
  void put_node(u32 graph, u64 node);
  void close() { out_.put("}}"); }
  void put_flow(const GpuEvent& event);

  const Model& model_;
  Lines& lines_;
  StackText& stacks_;
  const CollectiveArguments& collectives_;
  OutputFile& out_;
  u64 next_flow_;
  bool first_arg_ = true;
};

}  // namespace tprof::kineto
