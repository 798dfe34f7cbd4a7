// THE FORMAT of a recording (<host>_<pid>.<time_ns>.tprof), version 1.6. Little-endian, everything 8-byte aligned.
//
//   offset 0              FileHeader, padded to kHeaderBytes
//   kHeaderBytes + i * kChunkBytes   chunk i: ChunkHeader, then records back to back, then zeros
//
// A chunk belongs to one thread and one epoch (data) or to everybody (meta). A record starts with a RecordHead
// that holds its kind and its length; the head is stored last, in one 8-byte store, so a record is either whole
// or absent (a zero head ends the chunk): the file is readable at any moment, also after SIGKILL. The only
// fields changed later are marked "patched".
//
// Epochs: window w has epoch 2w while warming up and 2w+1 while active. A chunk holds records of one epoch only.
// Which events belong to a window is decided by time alone: those that begin in [window.begin, window.end). Chunks
// of the epochs beside 2w+1 may hold some of them (a step edge can be confirmed, or found, a little late).
//
// Work of a GPU belongs to the window in which the call that launched it began. Its records come late and from CUPTI's
// threads: they lie in chunks of tid 0 of each window that was waiting for some, so one may stand in the chunks of two
// windows; the ApiRecord with its correlation id says whose it is (without one: the time at which it began).
//
// Chunks that have been converted or discarded are punched out of the file (zero magic): readers skip them.
// Readers skip unknown kinds and count them, refuse only an unknown major version, and bound every length.
//
// A folded file (record/fold.h) holds the recordings of several processes that have ended, one behind the other:
//
//   FileHeader, padded to kFoldedHeaderBytes; folded_bytes says where the next one begins
//   the chunks back to back, each cut to what it holds (ChunkHeader::folded_bytes); empty ones are left out
//
// The magic of a header is written when all that follows is there: what stands behind the last one is half a recording.
#pragma once
#include <atomic>

#include "base/types.h"

namespace tprof {

constexpr char kRecordingMagic[8] = {'T', 'P', 'R', 'O', 'F', 'R', 'E', 'C'};
constexpr u16 kVersionMajor = 1;
constexpr u16 kVersionMinor = 6;
constexpr u32 kHeaderBytes = 64 << 10;
constexpr u32 kFoldedHeaderBytes = 4096;
constexpr u32 kChunkBytes = 512 << 10;
constexpr u32 kChunkMagic = 0x4b4e4843;  // "CHNK"

// Reasons for which an event that reached us was not recorded; indices of FileHeader::dropped. DROP(name, text)
#define TPROF_DROP_REASONS(DROP)                                                     \
  DROP(disk_full, "the log directory's disk is full")                                \
  DROP(over_budget, "TPROF_MAX_SIZE of unconverted data was reached")                \
  DROP(no_chunk, "no memory or file could be had for a thread's records")            \
  DROP(reentered, "the event came from inside tprof's own code or a signal handler") \
  DROP(too_deep, "more ranges were open on one thread than can be followed")         \
  DROP(internal, "an internal surprise; see the message in the ledger")              \
  DROP(gpu_dropped, "CUPTI had no room for a record")                                \
  DROP(gpu_late, "work of the GPU was not finished within the wait at the window's end")

enum class Drop : u32 {
#define DROP(name, text) name,
  TPROF_DROP_REASONS(DROP)
#undef DROP
      count
};

// resting: ended, unless a training follows; within the process only, files say wait.
enum class Phase : u32 { wait = 0, warmup = 1, active = 2, ended = 3, resting = 4 };

// What a process is to its job. A helper (data-loader worker, compile worker, ...) becomes a program when it
// makes a step of its own.
enum class Role : u32 { program = 0, helper = 1 };

// FileHeader::closed.
constexpr u32 kClosed = 1;  // the program ended normally
constexpr u32 kClosedFinished =
    2;                           // all traces are written, and the recording is kept: nobody needs to finish it again
constexpr u32 kClosedEmpty = 3;  // nothing was recorded

// At offset 0. Fixed after creation except for the atomics.
struct FileHeader {
  char magic[8];
  u16 version_major;
  u16 version_minor;
  u32 header_bytes;
  u32 chunk_bytes;
  u32 pid;
  u64 process_start;  // field 22 of /proc/<pid>/stat: with pid and boot id it names the writer
  char boot_id[40];
  char host[64];
  u64 created_ns;    // CLOCK_REALTIME; also in the file name
  u64 base_time_ns;  // baseTimeNanoseconds of every trace of this job
  u32 clock_kind;    // ClockKind
  u32 parent_pid;    // the process that was the torch ancestor, 0 if none

  std::atomic<u32> chunks;         // chunks ever given out; indices run from 0
  std::atomic<u32> live_chunks;    // of these, not punched out (both sides change it)
  std::atomic<u32> phase;          // Phase, as the program sees it now
  std::atomic<u32> epoch;          // current epoch; meaningful in warmup and active
  std::atomic<u32> role;           // Role
  std::atomic<u32> meta_sequence;  // grows with each change to the meta stream
  std::atomic<u32> closed;         // not 0: nothing will be added, see kClosed below
  std::atomic<u32> stopped;        // 1 + Drop reason when recording had to stop for good, else 0
  std::atomic<u32> finisher_pid;   // the finisher that watches this recording, 0 if none
  std::atomic<u32> unfinished;     // sealed windows and flushes not yet written (program adds, finisher takes)
  std::atomic<u64> dropped[8];     // by Drop
  std::atomic<u64> given_back;     // chunks of epochs below this may be punched out: their windows are written
  std::atomic<u64> own_ticks;      // ticks spent in our own slow paths (chunk changes, phase changes)
  std::atomic<u64>
      rest_events;  // of windows that are written: events that stand in no trace (more than max_spans parts)
  std::atomic<i64> rest_first_step, rest_end_step;  // their steps; first -1: none was found, -2: all beside the steps
  u64 folded_bytes;                                 // in a folded file: of this recording, header and all; else 0
};
static_assert(sizeof(FileHeader) <= kFoldedHeaderBytes);
static_assert(u32(Drop::count) * sizeof(u64) <= sizeof(FileHeader::dropped),
              "no room for another reason: a new version");
static_assert(std::atomic<u64>::is_always_lock_free);

enum class Stream : u32 { data = 1, meta = 2 };

struct ChunkHeader {
  u32 magic;  // kChunkMagic; 0: punched out or never used
  u32 index;
  u32 stream;  // Stream
  u32 epoch;   // data only
  u32 tid;     // OS thread id of the (first) owner, data only
  u32 reserved[3];
  u64 first_ticks;   // when the chunk was taken
  u64 folded_bytes;  // in a folded file: of this chunk, header and all; else 0
  u64 padding[2];
};
static_assert(sizeof(ChunkHeader) == 64);

enum class Kind : u16 {
#define KIND(number, name, type, stream, what) name = number,
#include "record/kinds.def"
#undef KIND
};

struct RecordHead {
  u16 kind;   // Kind; 0 ends the chunk
  u16 words;  // length of the whole record in 8-byte words
  u32 id;     // kind-specific: a name id for ranges, the id itself for names
};
static_assert(sizeof(RecordHead) == 8);

// --- data stream

// head.id = OS thread id of whoever owns the chunk from here on.
struct HeirRecord {
  RecordHead head;
};

// at::RecordScope as torch numbers it.
enum class Scope : u8 {
  function = 0,
  backward = 1,
  torchscript = 2,
  kernel_dtype = 3,
  custom_class = 4,
  build_feature = 5,
  lite_interpreter = 6,
  user = 7,
  static_op = 8,
  static_model = 9
};

enum RangeFlag : u8 {
  kRangeAsync = 1,      // may end on another thread, need not nest
  kRangeHasInputs = 2,  // inputs were read (possibly zero of them)
  kRangeInputsCut = 4,  // the call had more inputs than follow
  kRangeLinked = 8,     // a RangeLink follows
  kRangeStack = 16,     // a StackRef follows
};

// head.id = name id. Followed by a RangeLink (kRangeLinked), a StackRef (kRangeStack), then `inputs` encoded inputs (see
// InputHead).
struct RangeRecord {
  RecordHead head;
  u64 begin_ticks;
  u64 end_ticks;  // patched at the end; 0: unfinished (or a range_end record has it)
  u8 scope;       // Scope
  u8 flags;       // RangeFlag
  u16 inputs;     // encoded inputs that follow
  i32 sequence;   // autograd sequence number, -1 none; the link's if there is one
};
static_assert(sizeof(RangeRecord) == 32);

// What few ranges have: a forward thread (backward nodes), or a sequence number beyond 31 bits.
struct RangeLink {
  i64 sequence;
  u64 forward_thread;  // torch's logical id of the forward thread, 0 none
};

// Call stacks at the moment of an event: ids of the innermost frame's StackRecord, 0 none, kStackLost no room for it.
struct StackRef {
  u32 python;
  u32 native;
};
constexpr u32 kStackLost = 0xffffffff;
// The file that code objects of tprof's own name. Shown in no call stack: on Python before 3.12 some functions of torch are
// called through one.
constexpr char kOwnFile[] = "<tprof>";

// A reference to a record: chunk index << 32 | byte offset in the chunk.
using RecordRef = u64;

struct RangeEndRecord {
  RecordHead head;
  RecordRef begin;
  u64 end_ticks;
};

// What an allocator reported: head.id = device type (c10::DeviceType) | u8(device index) << 8 | MemoryFlag << 16.
// Stamped when the report came: behind an allocation, before a release. Followed by a StackRef (kMemoryStack).
struct MemoryRecord {
  RecordHead head;
  u64 ticks;
  u64 address;
  i64 bytes;            // < 0: released
  u64 total_allocated;  // of the device, behind this report
  u64 total_reserved;   // 0 on CPU
};
static_assert(sizeof(MemoryRecord) == 48);

enum MemoryFlag : u8 {
  kMemoryOutOfMemory = 1,  // `bytes` could not be had; no address
  kMemoryStack = 4,        // a StackRef follows
  kMemoryShared = 2,       // shared memory or a mapped file: not part of the totals, which stay as they were
};

// One operator input. `count` and the payload depend on the tag; payloads are padded to 8 bytes.
enum class InputTag : u8 {
  none = 0,          // None, or a kind that is not printed; no payload
  tensor = 1,        // dtype, ndim = count; payload: ndim sizes, ndim strides (u32 each, i64 if kInputWide)
  undefined = 2,     // an undefined tensor; no payload
  tensor_list = 3,   // count inputs of tag tensor/undefined follow
  integer = 4,       // payload i64
  floating = 5,      // payload double
  boolean = 6,       // value in `count`
  complex = 7,       // payload two doubles
  string = 8,        // payload `count` bytes
  integer_list = 9,  // payload `count` i64
  floating_list = 10,
  boolean_list = 11,  // payload `count` bytes
  other_list = 12,    // a list whose elements are not printed; `count` elements
  other = 13,         // some other value; no payload
};

enum InputFlag : u8 {
  kInputWide = 1,       // sizes and strides are 8 bytes each
  kInputCut = 2,        // the list or string was longer than what is stored; `total` is not kept
  kInputNoStrides = 4,  // a tensor without strides (sparse, nested): sizes only
};

struct InputHead {
  u8 tag;    // InputTag
  u8 dtype;  // at::ScalarType number for tensors, 255 unknown
  u8 flags;  // InputFlag
  u8 reserved;
  u32 count;
};
static_assert(sizeof(InputHead) == 8);

// --- data stream: the GPU side. Stamps in ns are CUPTI's: CLOCK_REALTIME of the host. Correlation ids are CUPTI's, they
// tie a call to what it launched (0: none). Device and context ids and stream ids are CUPTI's numbers, not handles.

// What an interposed call did. See shim/hooks.def.
enum class CallFamily : u8 {
  launch = 0,
  copy = 1,
  set = 2,
  alloc = 3,
  free = 4,
  stream = 5,
  event = 6,
  sync = 7,
  graph = 8,
  nccl = 9,
  other = 10
};

enum CallFlag : u8 {
  kCallDriver = 1,      // a call of the driver API
  kCallAsync = 2,       // ordered by its stream
  kCallHostMemory = 4,  // alloc, free: memory of the host (pinned)
  kCallManaged = 8,     // alloc: managed memory
  kCallVirtual = 16,    // alloc, free: physical memory of the virtual-memory API, `address` is its handle
};

// One call into CUDA or NCCL as its caller saw it; head.id = name id of the function.
struct CallRecord {
  RecordHead head;
  u64 begin_ticks;
  u64 end_ticks;  // patched, with what follows; 0: unfinished (or a range_end record has it)
  u64 address;    // alloc, free: the memory; copy, set: the destination; launch: the host function; else 0
  u64 bytes;      // alloc, copy, set: how much; nccl: count; free: 0
  u64 stream;     // the handle, 0 none or the default stream
  i32 result;     // cudaError_t, CUresult or ncclResult_t
  u8 family;      // CallFamily
  u8 flags;       // CallFlag
  i8 device;      // current device, -1 unknown; alloc: of the memory
  u8 detail;      // copy: cudaMemcpyKind; nccl: ncclDataType_t; else 0
  StackRef stack;
};
static_assert(sizeof(CallRecord) == 64);

// One call of the CUDA runtime or driver as CUPTI saw it; head.id = name id of the function.
struct ApiRecord {
  RecordHead head;
  u64 begin_ns, end_ns;
  u32 tid;
  u32 correlation;
  i32 result;
  u32 cbid;  // CUPTI's number of the function | kApiDriver
};
static_assert(sizeof(ApiRecord) == 40);
constexpr u32 kApiDriver = 0x80000000;

// Where work ran; part of the records below.
struct GpuPlace {
  u32 device, context, stream, correlation;
};

// head.id = name id of the kernel, as CUPTI gives it (mangled).
struct KernelRecord {
  RecordHead head;
  u64 begin_ns, end_ns;  // 0: CUPTI lost the stamps
  GpuPlace place;
  i32 grid[3], block[3];
  i32 static_shared, dynamic_shared;  // bytes
  u32 shared_executed;                // bytes that the device set aside, 0 unknown
  u16 registers;                      // per thread
  u16 flags;                          // reserved
  u32 local_per_thread;               // bytes
  u32 graph;                          // graph id, 0 none
  u64 graph_node;                     // 0 none
  u64 queued_ns, submitted_ns;        // 0: not collected
  u32 cluster[3];                     // 0 none
  i32 priority;                       // of its stream; INT32_MIN unknown
};
static_assert(sizeof(KernelRecord) == 128);

// head.id = CUpti_ActivityMemcpyKind | source memory kind << 8 | destination memory kind << 16 | flags << 24 (CUPTI's).
struct CopyRecord {
  RecordHead head;
  u64 begin_ns, end_ns;
  GpuPlace place;
  u64 bytes;
  u64 graph_node;
  u32 graph;
  u32 from_device, to_device;  // between devices only, else both = place.device
  u32 reserved;
};
static_assert(sizeof(CopyRecord) == 72);

// head.id = memory kind | flags << 8.
struct SetRecord {
  RecordHead head;
  u64 begin_ns, end_ns;
  GpuPlace place;
  u64 bytes;
  u64 graph_node;
  u32 graph;
  u32 value;
};
static_assert(sizeof(SetRecord) == 64);

// A wait for the GPU: head.id = CUpti_ActivitySynchronizationType.
struct SyncRecord {
  RecordHead head;
  u64 begin_ns, end_ns;
  GpuPlace place;  // stream 0xffffffff: none; device 0xffffffff: unknown
  u32 event;       // id of the event waited for, 0 none
  u32 event_sync;  // CUPTI's number of the record that is waited for, 0 unknown
};
static_assert(sizeof(SyncRecord) == 48);

// A cudaEventRecord: head.id = the event's id.
struct GpuEventRecord {
  RecordHead head;
  GpuPlace place;
  u64 device_ns;  // when the device reached it, 0 unknown
  u32 event_sync;
  u32 reserved;
};
static_assert(sizeof(GpuEventRecord) == 40);

// One launch of a whole graph (TPROF_GRAPH=graph): head.id = graph id.
struct GraphRecord {
  RecordHead head;
  u64 begin_ns, end_ns;
  GpuPlace place;
};
static_assert(sizeof(GraphRecord) == 40);

// CUPTI's own cost: head.id = CUpti_ActivityOverheadKind.
struct OverheadRecord {
  RecordHead head;
  u64 begin_ns, end_ns;
  u32 object_kind;  // CUpti_ActivityObjectKind
  u32 object;       // thread id, device id ... by kind
  u32 correlation;
  u32 reserved;
};
static_assert(sizeof(OverheadRecord) == 40);

// Memory that the CUDA driver gave or took, as CUPTI saw it: head.id = CUpti_ActivityMemoryOperationType | memory kind << 8.
struct GpuMemoryRecord {
  RecordHead head;
  u64 ns;
  u64 address;
  u64 bytes;
  GpuPlace place;
  u64 pool;  // address of the memory pool, 0 none
};
static_assert(sizeof(GpuMemoryRecord) == 56);

// --- data stream: Python

enum PythonCallFlag : u32 {
  kPythonBuiltin = 1,  // a function written in C: head.id is a name id
};

// One call of a Python function: head.id = id of its CodeRecord. end_ticks as in RangeRecord.
struct PythonCallRecord {
  RecordHead head;
  u64 begin_ticks;
  u64 end_ticks;  // patched
  u32 module;     // id of a ModuleRecord: this is the call of an nn.Module; 0 none
  u32 flags;      // PythonCallFlag
};
static_assert(sizeof(PythonCallRecord) == 32);

// --- data stream: NVTX

enum class NvtxWhat : u8 { push_pop = 0, start_end = 1, mark = 2 };
enum class NvtxPayload : u8 { none = 0, unsigned_integer = 1, integer = 2, floating = 3 };

// A range or mark of the user's: head.id = name id of the message. end_ticks as in RangeRecord (a range_end record may
// have it), 0 for marks.
struct NvtxRecord {
  RecordHead head;
  u64 begin_ticks;
  u64 end_ticks;    // patched
  u64 payload;      // bits, by payload_type
  u32 domain;       // name id, 0 the default domain
  u32 category;     // name id of the category, or the number itself | kNvtxNumber; 0 none
  u32 color;        // ARGB, 0 none
  u8 what;          // NvtxWhat
  u8 payload_type;  // NvtxPayload
  u16 reserved;
};
static_assert(sizeof(NvtxRecord) == 48);
constexpr u32 kNvtxNumber = 0x80000000;

// --- meta stream

// A device: head.id = its number. Units as in cudaDeviceProp; 0: unknown.
struct DeviceRecord {
  RecordHead head;
  u64 total_memory;
  u32 compute_major, compute_minor;
  u32 multiprocessors;
  u32 warp_size;
  u32 max_threads_per_block, max_threads_per_multiprocessor;
  u32 max_blocks_per_multiprocessor;
  u32 registers_per_block, registers_per_multiprocessor;
  u32 shared_per_block, shared_per_multiprocessor, shared_per_block_optin, shared_reserved_per_block;
  u32 clock_khz, memory_clock_khz, memory_bus_bits;
  u64 memory_bandwidth;  // kB/s
  u32 l2_bytes;
  u32 reserved;
  char name[64];
};
static_assert(sizeof(DeviceRecord) == 160);

// A context: head.id = its id.
struct ContextRecord {
  RecordHead head;
  u32 device;
  u32 null_stream;  // id of its default stream
};
static_assert(sizeof(ContextRecord) == 16);

// A Python code object: head.id = its id, from 1. Followed by `table_bytes` of its line table in the format of that
// Python (co_lnotab before 3.10, co_linetable since), padded.
struct CodeRecord {
  RecordHead head;
  u32 name;  // name id of co_name, which is what torch shows
  u32 file;  // name id of co_filename
  i32 first_line;
  u32 table_bytes;
  u16 python;  // major << 8 | minor: says how to read the table
  u16 reserved[3];
};
static_assert(sizeof(CodeRecord) == 32);

// One frame of a call stack: head.id = its id, from 1. Frames that were seen below the same caller share it.
struct StackRecord {
  RecordHead head;
  u32 parent;  // id of the caller's frame, 0: the outermost
  u32 code;  // id of a CodeRecord; 0: a native frame; kStackCut: more frames than are recorded were outside of the next
  u64 at;  // Python: byte offset of the current instruction in the code, kStackEntered; native: return address | maps <<
           // kMapShift
};
static_assert(sizeof(StackRecord) == 24);
constexpr u32 kStackCut = 0xffffffff;
// The interpreter was entered with this frame (from 3.11 on; before, with every frame): it and the frames inside of it, up
// to the next such one, are evaluated in one native frame.
constexpr u64 kStackEntered = u64(1) << 63;
// How often something mapped had gone by then: addresses that are equal but for this may lie in different files.
constexpr u32 kMapShift = 48;
constexpr u64 kMaxMaps = 0xffff;

// An nn.Module object: head.id = its id, from 1.
struct ModuleRecord {
  RecordHead head;
  u32 class_name;  // name id
  u32 number;      // how many of the class were seen before it
  u64 parameters;  // elements of its own and its children's parameters; kUnknown: not counted
  u64 parameter_bytes;
  static constexpr u64 kUnknown = ~u64(0);
};
static_assert(sizeof(ModuleRecord) == 32);

// A mapped file: head.id = maps, see kMapShift. An address in [begin, end) belongs to the last one whose maps are not more
// than its own.
struct ImageRecord {
  RecordHead head;
  u64 begin, end;      // addresses
  u64 bias;            // address - bias = address in the file's symbol table
  u64 ticks;           // seen from then on
  u32 path;            // name id
  u32 build_id_bytes;  // 0 none
  u8 build_id[24];
};
static_assert(sizeof(ImageRecord) == 72);

// head.id = the id, followed by `bytes` bytes (any bytes; no terminator counted, one is stored).
struct NameRecord {
  RecordHead head;
  u32 bytes;
  u32 reserved;
};

// head.id = OS thread id. A longer name goes on behind the record, padded with zeros.
struct ThreadRecord {
  RecordHead head;
  u64 torch_thread;  // torch's logical id, 0 unknown
  u64 begin_ticks;
  char name[16];
};

struct ClockRecord {
  RecordHead head;
  u64 ticks, realtime_ns, monotonic_ns;
};

// Where a step edge came from; also how sure the detector is.
enum class StepBy : u32 {
  none = 0,
  api = 1,              // tprof_step()
  profiler_step = 2,    // the script's own ProfilerStep#
  option = 3,           // TPROF_STEP
  dataloader = 4,       // training: an update, on a batch drawn
  optimizer = 5,        // training: an update, nothing drawn
  forward = 6,          // inference: calls of the nn.Module that leads
  backward = 7,         // training without an optimizer: backward passes and cleared gradients
  inference_batch = 8,  // inference: batches of the loader that leads
};

// head.id = StepBy. Steps are consecutive; number counts from 0 and only grows.
struct StepRecord {
  RecordHead head;
  i64 number;
  u64 begin_ticks;  // patched while the edge is tentative
  u64 end_ticks;    // patched; 0: open
  u32 flags;        // patched; StepFlag
  u32 tid;
};
enum StepFlag : u32 {
  kStepTentative = 1,  // what makes it a step has not been seen yet
  kStepHasWork = 2,    // it has been: training, a backward pass or an update; else a forward
  kStepWithdrawn = 4,  // it was none after all: the batch drawn for it was an evaluation's, or the loader was exhausted
  kStepGuessed = 8,    // the signs disagreed
  kStepBefore = 16,    // never written, set by readers: counted before a RestartRecord says that training began
};

// A stretch in which a program that trains does not: head.id = StretchKind. It lies between two steps, or inside one.
enum class StretchKind : u32 {
  evaluation = 1,  // batches with forwards but no backward pass, or calls of the module that trains in eval mode
  inference = 2,   // calls without gradients in training mode, without a loader: a rollout, sampling
};
struct StretchRecord {
  RecordHead head;
  i64 number;  // of its kind, from 0
  u64 begin_ticks;
  u64 end_ticks;  // patched; 0: open
  u32 batches;    // patched: drawn for it; 0: it has no loader
  u32 calls;      // patched: forwards seen
  u32 left_out;   // patched: of the batches (of the calls where there are none), those that were not recorded
  u32 flags;      // patched; StretchFlag
  u32 tid;
  u32 reserved;
};
enum StretchFlag : u32 {
  kStretchWithdrawn = 1,  // it was none after all
  kStretchInside = 2,     // inside a step, between its first backward pass and its update
  kStretchBefore = 4,     // seen before anything was known of training: holds if a RestartRecord follows
};

// A batch of a stretch was drawn, or a call of it began, where there are no batches: a place to cut.
struct StretchPartRecord {
  RecordHead head;
  u64 ticks;
};

// Counting began anew: steps written before that have this number or a higher one were none. head.id = RestartWhy.
enum class RestartWhy : u32 {
  training = 1,  // what came before was counted as inference, and then the program began to train
  recount = 2,   // what were taken for steps were parts of one
};
struct RestartRecord {
  RecordHead head;
  i64 number;  // that the step at `ticks` gets
  u64 ticks;
};

enum class WindowState : u32 { warmup = 0, active = 1, closing = 2, sealed = 3, discarded = 4 };

// head.id = the window's number w. Patched as it goes on.
struct WindowRecord {
  RecordHead head;
  std::atomic<u32> state;  // WindowState; data chunks may be read for good once sealed
  u32 tid;
  i64 first_step;    // first active step, -1: not by steps (no schedule: everything)
  i64 end_step;      // one past the last, -1 while open
  u64 warmup_ticks;  // when warm-up began
  u64 begin_ticks;   // active from here ...
  u64 end_ticks;     // ... to here; 0 while open
};

// head.id: 1 on, 0 off. Followed by two NUL-terminated strings: name, why (may be empty).
struct CapabilityRecord {
  RecordHead head;
};

// Followed by two NUL-terminated strings: key, value.
struct InfoRecord {
  RecordHead head;
};

// head.id = flush number from 1.
struct FlushRecord {
  RecordHead head;
  u64 ticks;
};

}  // namespace tprof
