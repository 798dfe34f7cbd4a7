// The Model: one span of one process as plain data, ready to be written or analysed.
//
// Times are integer nanoseconds relative to `base_time_ns`. Events are sorted by start, longer ones first, so that
// a parent always precedes its children. An event is 64 bytes; the inputs of operators stay in the
// encoded form of the recording (see InputHead in record/record.h) and are decoded where they are shown: a
// million events with shapes need about 200 MB.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/sizes.h"
#include "model/gpu.h"
#include "model/loader.h"
#include "model/nvtx.h"
#include "model/step_cut.h"
#include "record/reader.h"

namespace tprof {

enum EventFlag : u16 {
  kEventClipped = 1,     // went on beyond the end of the span
  kEventUnfinished = 2,  // the process ended inside it
  kEventAsync = 4,       // may end on another thread
  kEventHasInputs = 8,   // inputs were read, possibly zero of them
  kEventStep = 16,       // a step or stretch that tprof found, not a recorded range
  kEventClamped = 32,    // its end was moved back to that of its parent
  kEventNvtx = 64,       // an NVTX range: `nvtx` is set, not `inputs`
  kEventPython = 128,    // a Python call: `python` is set, not `inputs`
  kEventStretch = 256,   // with kEventStep: a stretch, no step
  kEventNccl = 512,      // a call into NCCL on a communicator: `nccl` is set, not `inputs`
};

struct PythonDetail;
struct NcclDetail;

struct Event {
  i64 begin_ns = 0;
  i64 dur_ns = 0;
  i64 sequence = -1;               // autograd sequence number, -1 none
  union {                          // in the Model's arena; the flags say which one is set
    const char* inputs = nullptr;  // `inputs_count` encoded inputs, or none
    const NvtxDetail* nvtx;        // kEventNvtx
    const PythonDetail* python;    // kEventPython
    const NcclDetail* nccl;        // kEventNccl, see model/nccl.h
  };
  u32 forward_thread = 0;  // torch's logical id of the forward thread, 0 none
  u32 stack = 0;           // innermost frame: index into Model::stacks, 0 none
  u32 name = 0;            // index into Model::names
  u32 thread = 0;          // index into Model::threads
  i32 parent = -1;         // index of the enclosing event on the same thread
  union {
    u32 inputs_bytes = 0;
    u32 step_index;  // kEventStep, until nest_events(): index into Model::steps, or with kEventStretch Model::stretches
  };
  u16 inputs_count = 0;
  u8 scope = 0;  // Scope
  u8 reserved = 0;
  u16 flags = 0;  // EventFlag
  u16 depth = 0;  // enclosing events

  i64 end_ns() const { return begin_ns + dur_ns; }
  // Empty if no inputs were recorded.
  std::string_view encoded_inputs() const {
    bool other = flags & (kEventStep | kEventNvtx | kEventPython | kEventNccl);
    return other || !inputs ? std::string_view() : std::string_view(inputs, inputs_bytes);
  }
};
static_assert(sizeof(Event) == 64);

// The details of a Python call. The name of its event is the one that torch writes: "file(line): function",
// "<built-in ...>" or "nn.Module: Class_N".
struct PythonDetail {
  u32 id;      // "Python id": unique in the trace, from 1
  u32 parent;  // id of the Python call around it on its thread, 0 none
  u32 module;  // index into Model::modules, kNone: no nn.Module
  u32 reserved;
};

constexpr u64 kUncounted = ModuleRecord::kUnknown;  // of parameters

// An nn.Module object.
struct ModuleInfo {
  u32 class_name = 0;  // index into Model::names
  u32 number = 0;      // of its class
  u64 parameters = kUncounted, parameter_bytes = 0;
};

// A frame of a call stack and its caller. Python: "file(line): function"; native: as kineto/write/stacks shows it.
struct StackFrame {
  u32 parent = 0;  // index into Model::stacks, 0: the outermost
  u32 text = 0;    // index into Model::names
  bool native = false;
};

constexpr u8 kCudaDeviceType = 1;    // c10::DeviceType
constexpr u8 kMemoryNoTotals = 128;  // beside MemoryFlag, only for traces that were read: they state no totals

// What an allocator reported.
struct MemoryEvent {
  i64 ns = 0;
  u64 address = 0;
  i64 bytes = 0;                                // < 0: released
  u64 total_allocated = 0, total_reserved = 0;  // of the device, after this event
  u32 thread = 0;                               // index into Model::threads
  u8 device_type = 0;                           // c10::DeviceType: 0 CPU, 1 CUDA
  i8 device_index = -1;                         // -1: none, as on CPU
  u8 flags = 0;                                 // MemoryFlag, kMemoryNoTotals
  u32 stack = 0;                                // index into Model::stacks, 0 none

  bool failed() const { return flags & kMemoryOutOfMemory; }  // `bytes` were asked for and not given
  // Whether an allocator can have reported it. What was asked for and not given may be of any size: it enters no sum
  // and has no address.
  bool possible() const { return failed() ? bytes >= 0 && !address : bytes >= -kMaxSize && bytes <= kMaxSize; }
};

// The stack of a thread at one moment, read by the sampler.
struct StackSample {
  i64 ns = 0;
  u32 thread = 0;  // index into Model::threads
  u32 stack = 0;   // index into Model::stacks, 0: it could not be kept
  u32 flags = 0;   // SampleFlag
};

// Counts of Sampled. SAMPLED(name)
//   looks       at all threads
//   missed      looks that were due, and were too late
//   failed      looks that found no threads
//   unread      threads whose frames could not be read consistently, over all looks
//   changed     samples whose innermost frames changed while they were read
//   lost        samples for whose stack there was no room
//   cpu_ns      processor time of the sampler so far
//   no_native   samples whose native frames were asked for and could not be read
//   not_stopped samples whose native frames were read of a thread that was blocked, and not stopped
//   stops       of a thread, for its native frames
//   stopped_ns  how long they took together
//   longest_ns  the longest one
#define TPROF_SAMPLED(SAMPLED) \
  SAMPLED(looks)               \
  SAMPLED(missed)              \
  SAMPLED(failed)              \
  SAMPLED(unread)              \
  SAMPLED(changed)             \
  SAMPLED(lost)                \
  SAMPLED(cpu_ns)              \
  SAMPLED(no_native)           \
  SAMPLED(not_stopped)         \
  SAMPLED(stops)               \
  SAMPLED(stopped_ns)          \
  SAMPLED(longest_ns)

// What the sampler did in the span.
struct Sampled {
  u32 hz = 0;  // looks per second as asked for; 0: there was no sampling
#define COUNT(name) u64 name = 0;
  TPROF_SAMPLED(COUNT)
#undef COUNT
  bool knows_gil = false;
  std::string why_not;        // why nothing could be read; empty: it could
  std::string why_no_native;  // why native frames could not; empty: they could, or were not asked for
};

// A row of the trace: an OS thread, or a lane beside it for ranges of that thread that cross others.
struct TraceThread {
  u32 tid = 0;           // unique in the Model; lanes get numbers from kFirstLaneTid
  u32 owner = 0;         // OS thread id
  u64 torch_thread = 0;  // torch's logical id, 0 unknown
  std::string name;
  bool is_lane() const { return tid != owner; }
};
// The gap that is left at the end of a range so that rounding in readers makes no crossing of it (see nest.cpp).
constexpr i64 kRoundingNs = 2;
constexpr u32 kFirstLaneTid = 10'000'000;  // beyond any Linux thread id (at most 4194304)

struct Step {
  i64 number;
  StepBy by;
  i64 begin_ns, end_ns;
  u32 event;               // its event
  bool guessed = false;    // the signs of the step disagreed
  bool evaluates = false;  // a stretch lies inside of it, so its time is not that of a step
  StepCut cut = StepCut::none;
};

// The part of a stretch that lies in the span: an evaluation or rollout of a training program (StretchRecord), or what
// no step holds (step_edges.h).
struct Stretch {
  StretchKind kind;
  i64 number;  // of its kind
  i64 begin_ns, end_ns;
  u32 batches = 0;         // drawn for it in the span; 0: it has no loader
  u32 calls = 0;           // forwards in it; 0: not known, since it continues beyond the span
  u32 left_out = 0;        // how many of the batches (without a loader: of the calls) were not recorded
  bool inside = false;     // inside of a step; else between two
  bool continued = false;  // it began before the span
  u32 event = 0;           // its event
};

struct ForwardBackward {
  u32 forward, backward;  // events
};

// A collective of torch.distributed or NCCL: on a GPU its kernel, as the trace states it or by the call into NCCL; on
// the CPU (gloo) the operator that started it. Several collectives of NCCL may share a kernel.
struct Collective {
  u32 gpu = kNone;   // its kernel: index into Model::gpu; kNone: it ran on the CPU, or its kernel is not known
  u32 op = kNone;    // the operator c10d::... or the call into NCCL that started it: index into Model::events
  u32 wire = kNone;  // what shows it: the label of its backend, from request to completion, or `op`; index as `op`
  u32 name = 0;      // "allreduce" ...; this and the next four are indices into Model::names; 0: not known
  u32 dtype = 0, group = 0, group_description = 0;
  u32 group_ranks = 0;                      // "[0, 2]": the ranks of the group, as numbers of the whole job
  i64 in_elements = -1, out_elements = -1;  // -1: not known, also below
  i32 group_size = -1;
  i32 peer = -1;         // send and recv: the other rank; broadcast, scatter, gather, reduce: the root
  i64 sequence = -1;     // in its group
  i64 network_ns = -1;   // for how long NCCL's network threads were busy with it
  i32 group_rank = -1;   // of this process in the group
  i8 async = -1;         // 1: the program went on while it ran
  bool by_nccl = false;  // an operation of NCCL: without a kernel only its call is known
};

// What happened to every event that was seen: seen() = written + the sum of dropped.
struct Ledger {
  u64 written = 0;
  std::map<std::string, u64> dropped;  // by reason
  u64 discarded_warmup = 0;
  u64 replaced_step_marks = 0;  // ProfilerStep ranges of the script, which the steps of tprof replace
  u64 clipped = 0, unfinished = 0, clamped = 0;
  u64 lanes = 0;        // ranges moved to a lane
  u64 inputs_cut = 0;   // events with more inputs than were recorded
  u64 stacks_cut = 0;   // events with a stack whose outer frames are not recorded
  u64 stacks_lost = 0;  // events whose stack is not in the recording
  u64 names_lost = 0;   // events whose name is not in the recording
  u64 pairs = 0, pairs_left_out = 0;
  std::string pairs_why;  // why pairs were left out
  std::string clock;      // why times are doubtful; empty if they are not
  // For a trace that was read: repairs by kind, and events by category that the Model cannot hold.
  std::map<std::string, u64> repaired, left_out;
  GpuLedger gpu;

  u64 dropped_sum() const {
    u64 sum = 0;
    for (const auto& [reason, count] : dropped) sum += count;
    return sum;
  }
  u64 seen() const { return written + dropped_sum(); }
};

// What asked for a trace, where it was not the schedule.
struct TriggerFacts {
  std::string why;  // "tprof trigger"; empty: the schedule
  u64 refused = 0;  // triggers of the process that were refused so far
  // Flight mode: the steps and the time since the trace before that are in no trace, being older than what is kept.
  u64 dropped_steps = 0, dropped_ns = 0;
};

// Bytes that live as long as the Model and never move.
class Arena {
 public:
  const char* copy(const void* bytes, size_t size);
  template <class T>
  const T* copy(const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 8);
    return reinterpret_cast<const T*>(copy(&value, sizeof value));
  }

 private:
  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t used_ = 0, capacity_ = 0;
};

struct Model {
  std::string host;
  u32 pid = 0;
  std::string process_name;
  u64 base_time_ns = 0;
  i64 begin_ns = 0, end_ns = 0;  // the span
  std::string identity;          // of process and span; equal conversions have equal identities

  std::vector<std::string> names;
  std::vector<TraceThread> threads;
  std::vector<Event> events;
  std::vector<MemoryEvent> memory;  // in order of time, see add_memory()
  std::vector<NvtxMark> marks;      // in order of time
  std::vector<Step> steps;
  std::vector<Stretch> stretches;  // in order of begin_ns
  std::vector<ForwardBackward> pairs;
  std::vector<CallEvent> calls;         // in order of begin_ns
  std::vector<GpuEvent> gpu;            // in order of begin_ns
  std::vector<Collective> collectives;  // in order of `gpu`, those without one last, in order of `op`
  std::vector<StackFrame> stacks;       // [0] stands for none; a frame follows its caller
  std::vector<ModuleInfo> modules;
  std::vector<StackSample> samples;  // in order of time
  Sampled sampled;
  LoaderActivity loader;
  std::map<u32, DeviceInfo> devices;  // by number: those of which the recording has properties

  // Of the process in its job, as torch.distributed counts; -1 not known.
  i32 rank = -1, world_size = -1, local_rank = -1;
  std::string recorded_ranks;  // of the job, as --ranks lists them; empty: all

  // About the process and the recording.
  std::map<std::string, std::string> info;
  std::map<std::string, CapabilityInfo> capabilities;
  std::map<std::string, u64> process_dropped;  // by reason, for the whole process so far
  std::string stopped;                         // why recording stopped for good; empty if it did not
  bool process_ended_inside = false;           // the process died inside this span
  int killed_by = 0;                           // then: the signal by which it died; 0: not known
  bool before_training = false;                // its steps were counted before the program turned out to train
  i64 window = -1;                             // the window's number
  std::string kind;  // "window", "flush", "part" (of a recording without schedule), "steps" or "flight"
  TriggerFacts trigger;
  u64 own_ns = 0;  // time of tprof's slow paths in the process so far, 0: not known
  Damage damage;
  Ledger ledger;

  Arena arena;

  // Leaves a change out that cannot be, and counts it.
  void add_memory(const MemoryEvent& event) {
    if (event.possible())
      memory.push_back(event);
    else
      ledger.dropped["no_size"]++;
  }
  bool empty() const { return events.empty() && marks.empty() && calls.empty() && gpu.empty(); }
  const std::string& name_of(const Event& event) const { return names[event.name]; }
  u64 begin_realtime_ns() const { return base_time_ns + u64(begin_ns); }
};

// Model::kind of a trace of flight mode.
constexpr char kFlightKind[] = "flight";

// The names in the ledger for FileHeader::dropped, by Drop.
constexpr const char* kDropNames[] = {
#define DROP(name, text) #name,
    TPROF_DROP_REASONS(DROP)
#undef DROP
};

// How a rank of a job is called everywhere: "rank 3 (node)".
inline std::string rank_text(i32 rank, const std::string& node) {
  return "rank " + std::to_string(rank) + (node.empty() ? "" : " (" + node + ")");
}

// Names of torch that several layers know.
// The operators of torch's record_function; they come with a step mark and do no work.
constexpr char kRecordFunctionPrefix[] = "profiler::_record_function";
constexpr char kStepPrefix[] = "ProfilerStep#";
// The names of stretches, and their keys in documents, by StretchKind - 1.
constexpr const char* kStretchPrefixes[] = {
#define STRETCH(number, name, prefix, key) prefix,
    TPROF_STRETCHES(STRETCH)
#undef STRETCH
};
constexpr const char* kStretchKeys[] = {
#define STRETCH(number, name, prefix, key) key,
    TPROF_STRETCHES(STRETCH)
#undef STRETCH
};
inline const char* prefix_of(StretchKind kind) { return kStretchPrefixes[u32(kind) - 1]; }
// What lies behind a loop or a step: only what runs in it is anybody's time.
constexpr bool is_rest(StretchKind kind) { return kind == StretchKind::after_loop || kind == StretchKind::between; }
constexpr char kEvaluatePrefix[] = "autograd::engine::evaluate_function: ";
constexpr char kAccumulateGrad[] = "torch::autograd::AccumulateGrad";
constexpr char kOptimizerPrefix[] = "Optimizer.";
// Ranges of PyTorch Lightning's profiler: "[pl][profile]<action>", "[pl][module]<class>: <name>".
constexpr char kLightningProfile[] = "[pl][profile]", kLightningModule[] = "[pl][module]";

}  // namespace tprof
