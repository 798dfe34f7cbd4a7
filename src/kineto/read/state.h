// The shared state of the reader: the Model that is filled, and links by id that are resolved when all events are read.
#pragma once
#include "kineto/read/inputs.h"
#include "kineto/read/tables.h"
#include "model/plugin_trace.h"

namespace tprof::kineto {

constexpr i64 kNoId = PluginEvent::kAbsent;

// One element of traceEvents, taken apart. Missing members are null values.
struct EventFields {
  std::string_view name, phase;
  const Value *ts, *dur, *pid, *tid, *id, *args;
  i64 begin_ns = 0, dur_ns = 0;
  i64 external_id = kNoId, correlation = kNoId;

  const Value& arg(std::string_view key) const { return member(*args, key); }
};

// An end of an arrow from a forward operator to its backward node.
struct FlowEnd {
  i64 id, ns;
  u32 thread;
  bool start;
};

struct ReadState {
  explicit ReadState(Model& m) : model(m) {}

  Model& model;
  NameIndex names{model};
  RowIndex rows{model, names};
  StackIndex stacks{model, names};
  InputReader inputs{model};
  std::vector<i64> event_ids, call_ids, gpu_ids;  // External ids, parallel to Model::events, calls and gpu
  std::vector<i64> call_correlations, gpu_correlations;
  std::vector<FlowEnd> flows;
  std::map<std::pair<u32, i64>, u32> modules;  // name, Python module id (of its class) -> Model::modules
  std::vector<Collective> stated;              // of ranges; `op` is the event, `gpu` its kernel's correlation
  std::map<std::tuple<u32, i32, u32>, u32> loader_workers;  // loader, id, pid -> LoaderActivity::workers
  PluginTrace* plugin = nullptr;
};

// collectives.cpp: the fields of a collective; and, once the events are nested, what they say of those that ran on the
// CPU. `event_at`: where each event is after sorting.
Collective collective_of(ReadState& state, const EventFields& fields);
void find_stated_collectives(ReadState& state, const std::vector<u32>& event_at);

// gpu.cpp: adds a GPU activity: its record and its GpuEvent.
void add_gpu_event(ReadState& state, Kind kind, const EventFields& fields);
DeviceRecord device_of(const Value& properties);

// host.cpp: adds an event of a thread of the process.
enum class HostKind { op, label, python, runtime, driver };
void add_host_event(ReadState& state, HostKind kind, const EventFields& fields);
void add_instant(ReadState& state, const EventFields& fields);

// loaders.cpp: adds a part of a worker's life, or a draw; false: it is neither.
bool add_loader_event(ReadState& state, const EventFields& fields);
void sort_loader_events(Model& model);

// samples.cpp: the members "stackFrames" and "samples", in any order; the frames count only where there are samples.
class SampleReader {
 public:
  void read_frames(const Value& frames);
  void read_samples(const Value& samples);
  // When all is read.
  void finish(ReadState& state);

 private:
  struct Frame {
    std::string parent, text;
    bool native = false;
    u32 index = 0;  // in Model::stacks
  };
  struct Read {
    i64 ns, tid;
    std::string frame;
    u32 flags;
  };
  u32 index_of(ReadState& state, const std::string& id);
  std::unordered_map<std::string, Frame> frames_;  // by id
  std::vector<Read> samples_;
  u64 dropped_ = 0;
};

// links.cpp: sorts, nests and links what was read.
void link_all(ReadState& state);

}  // namespace tprof::kineto
