// THE FORMAT of a recording (<host>_<pid>.<time_ns>.tprof), version 1.13. Little-endian, everything 8-byte aligned.
// The file is long because it is the whole format: every struct of it stands here and nowhere else.
//
//   offset 0              FileHeader, padded to kHeaderBytes
//   kHeaderBytes + i * kChunkBytes   chunk i: ChunkHeader, then records back to back, then zeros
//
// A chunk belongs to one thread and one epoch (data) or to the process (meta, steps). A record starts with a RecordHead
// that holds its kind and its length. The head is stored last, in one 8-byte store, so a record is either complete
// or absent (a zero head ends the chunk): the file is readable at any moment, also after SIGKILL. The only
// fields that change later are marked "patched".
//
// Epochs: window w has epoch 2w while warming up and 2w+1 while active. A chunk holds records of one epoch only.
// Time alone decides which events belong to a window: those that begin in [window.begin, window.end). Chunks of the
// neighbouring epochs may hold some of them, since the start of a step can be confirmed, or found, a little late.
//
// A GPU activity belongs to the window in which the call that launched it began. Its record comes late and from a
// thread of CUPTI: it is written to a chunk of tid 0 of each window that still waits for GPU records, so the chunks of
// two windows may hold it. The ApiRecord with its correlation id decides to which one it belongs; without such a
// record, its own start.
//
// Chunks that have been converted or discarded are punched out of the file (zero magic): readers skip them. In flight
// mode the program itself punches them out and uses them again, so chunks are in order of time by `first_ticks` only.
// There, one window goes through many epochs: its number grows, and what it no longer holds is before its begin. Meta
// records of which each step adds some have chunks of their own there (steps), which are given back as data is.
// Readers skip and count unknown kinds, refuse only an unknown major version, and check every length.
//
// A folded file (record/fold.h) holds the recordings of several processes that have ended, one after the other:
//
//   FileHeader, padded to kFoldedHeaderBytes; the next one follows folded_bytes after its start
//   the chunks back to back, each without its unused rest (ChunkHeader::folded_bytes); empty ones are left out
//
// The magic of a header is written last: whatever follows the last header with a magic is an incomplete recording.
//
// A companion (<recording>.samples, record/companion.h) has the same format and holds what the sampler, another
// process, has read from the program. Its header is about the program, its ticks are nanoseconds of CLOCK_MONOTONIC,
// its ids are its own, and its epochs are those of the recording.
#pragma once
#include <atomic>

#include "base/types.h"

namespace tprof {

constexpr char kRecordingMagic[8] = {'T', 'P', 'R', 'O', 'F', 'R', 'E', 'C'};
constexpr u16 kVersionMajor = 1;
// 7: process groups, see GroupRecord and InputTag::object. 8: LoaderRecord, NcclPart and NcclOpRecord.
// 9: TriggerRecord, FileHeader::kept_epoch; chunks that are used again; StepNow. 10: Stream::steps,
// TriggerRecord::first_step. 11: FileHeader::last_epoch. 12: FileHeader::killed_by. 13: StepRecord::work_ticks and
// what follows it, see kOldStepBytes.
constexpr u16 kVersionMinor = 13;
constexpr u16 kOldestMinor = 6;  // that of the first release; what earlier versions wrote is not read
constexpr u32 kHeaderBytes = 64 << 10;
constexpr u32 kFoldedHeaderBytes = 4096;
constexpr u32 kChunkBytes = 512 << 10;
constexpr u32 kChunkMagic = 0x4b4e4843;  // "CHNK"

// Reasons for which an event that reached tprof was not recorded; indices of FileHeader::dropped. DROP(name, text)
#define TPROF_DROP_REASONS(DROP)                                                     \
  DROP(disk_full, "the log directory's disk is full")                                \
  DROP(over_budget, "TPROF_MAX_SIZE of unconverted data was reached")                \
  DROP(no_chunk, "there was no memory or file for a thread's records")               \
  DROP(reentered, "the event came from inside tprof's own code or a signal handler") \
  DROP(too_deep, "more ranges were open on one thread than can be followed")         \
  DROP(internal, "an unexpected internal state; see the message in the ledger")      \
  DROP(gpu_dropped, "CUPTI had no buffer space for a record")                        \
  DROP(gpu_late, "a GPU activity was not finished within the wait at the window's end")

enum class Drop : u32 {
#define DROP(name, text) name,
  TPROF_DROP_REASONS(DROP)
#undef DROP
      count
};

// resting: ended, unless a training follows. It exists in the process only; the file has `wait` instead.
enum class Phase : u32 { wait = 0, warmup = 1, active = 2, ended = 3, resting = 4 };

// The role of a process in its job. A helper (data-loader worker, compile worker, ...) becomes a program when it
// makes a step of its own.
enum class Role : u32 { program = 0, helper = 1 };

// FileHeader::closed.
constexpr u32 kClosed = 1;          // the program ended normally
constexpr u32 kClosedFinished = 2;  // all traces are written and the recording is kept; nothing is left to convert
constexpr u32 kClosedEmpty = 3;     // nothing was recorded

// What a worker of a torch.utils.data.DataLoader does, and what its program does with it.
enum class LoaderPart : u32 {
  none = 0,
  start = 1,  // worker: from the start of its loop until it first asks for work
  wait = 2,   // worker: waits to be told which batch to load
  fetch = 3,  // worker: loads a batch, from the indices to what collate_fn returned
  send = 4,   // worker: from the end of the fetch until its queue has written the batch to the pipe
  draw = 5,   // program: DataLoader's __next__
  ended = 6,  // worker: its loop has ended; in LoaderNow only
};

// What a worker does now, and did before: what it began before a window and what it has not finished are in no record.
// `since_ticks` is written last, and 0 while the rest changes.
struct LoaderNow {
  std::atomic<u64> since_ticks;
  std::atomic<u64> before_ticks;  // when the part before began
  std::atomic<u64> loader;        // as in LoaderRecord; 0: this process is no such worker
  std::atomic<u32> part, before;  // LoaderPart
  std::atomic<i32> worker;
  std::atomic<u32> workers;
};

// The step that runs now, whether it is recorded or not: who watches a program reads here how fast it goes.
// `begin_ticks` is written last, and 0 while the rest changes and before the first step.
struct StepNow {
  std::atomic<u64> begin_ticks;
  std::atomic<i64> number;
  std::atomic<u64> first_ticks;  // when the step began that was the first since counting (re)started
  std::atomic<i64> first_number;
  std::atomic<u64> last_ticks;  // the last sign of steps: one that began, or a batch or call of an evaluation
};

// Of CLOCK_REALTIME and CLOCK_MONOTONIC, in the year 2116: what is later is damaged, and cannot be computed with.
constexpr u64 kLastMoment_ns = u64(1) << 62;

// Whether these can be numbers of steps: small enough to compute with, and for JSON to hold exactly.
template <class... Number>
constexpr bool are_steps(Number... number) {
  return ((number >= -2 && number < i64(1) << 53) && ...);  // -1: before the first; ended_step may be one less
}

// At offset 0. Fixed after creation except for the atomics.
struct FileHeader {
  char magic[8];
  u16 version_major;
  u16 version_minor;
  u32 header_bytes;
  u32 chunk_bytes;
  u32 pid;
  u64 process_start;  // field 22 of /proc/<pid>/stat: with pid and boot id it identifies the writer
  char boot_id[40];
  char host[64];
  u64 created_ns;    // CLOCK_REALTIME; also in the file name
  u64 base_time_ns;  // baseTimeNanoseconds of every trace of this job
  u32 clock_kind;    // ClockKind
  u32 parent_pid;    // the process that was the torch ancestor, 0 if none

  std::atomic<u32> chunks;         // chunks ever given out; indices run from 0
  std::atomic<u32> live_chunks;    // those that are not punched out (both sides change it)
  std::atomic<u32> phase;          // Phase, as the program sees it now
  std::atomic<u32> epoch;          // current epoch; meaningful in warmup and active
  std::atomic<u32> role;           // Role
  std::atomic<u32> meta_sequence;  // grows with each change to the meta stream
  std::atomic<u32> closed;         // not 0: nothing will be added, see kClosed above
  std::atomic<u32> stopped;        // 1 + Drop reason when recording had to stop for good, else 0
  std::atomic<u32> finisher_pid;   // the finisher that watches this recording, 0 if none
  std::atomic<u32> unfinished;  // sealed windows and flushes not yet written (the program adds, the finisher subtracts)
  std::atomic<u64> dropped[8];  // by Drop
  std::atomic<u64> given_back;  // chunks of epochs below this may be punched out: their windows are written
  std::atomic<u64> own_ticks;   // ticks spent in our own slow paths (chunk changes, phase changes)
  // Events of written windows that are in no trace, since there were more than max_spans parts.
  std::atomic<u64> rest_events;
  // The steps of these events; first -1: there are no steps at all, -2: the events lie outside of steps.
  std::atomic<i64> rest_first_step, rest_end_step;
  u64 folded_bytes;                   // in a folded file: size of this recording with its header; else 0
  std::atomic<u64> sampled_until_ns;  // in a companion: it holds all samples before this moment (CLOCK_MONOTONIC)
  LoaderNow loader;
  // Flight mode: the program gave back the chunks of earlier epochs, and its helpers may do so.
  std::atomic<u32> kept_epoch;
  std::atomic<u32> refused_triggers;  // those that came too soon after another
  StepNow step;                       // of a program; a file of before version 1.9 has zeros here
  // A hang that `tprof watch` has seen, for the program to take: seconds << 1 | 1 if a collective takes so long; 0:
  // none.
  std::atomic<u64> hang;
  std::atomic<i64> ring_first_step;  // flight mode: TriggerRecord::first_step of the window that is open
  // The epoch of the window that was active last, or is; 0: none was. Helpers see here that they missed one.
  std::atomic<u32> last_epoch;
  // The signal by which the program died, noted by `tprof run` or the finisher; 0: by none, or that is not known.
  std::atomic<u32> killed_by;
};
static_assert(sizeof(FileHeader) <= kFoldedHeaderBytes);
static_assert(u32(Drop::count) * sizeof(u64) <= sizeof(FileHeader::dropped),
              "no room for another reason: that takes a new version");
static_assert(std::atomic<u64>::is_always_lock_free);

// steps: steps, restarts, parts of stretches and clock stamps of flight mode; otherwise these are in meta.
enum class Stream : u32 { data = 1, meta = 2, steps = 3 };
constexpr bool is_stream(u32 number) { return number >= u32(Stream::data) && number <= u32(Stream::steps); }

struct ChunkHeader {
  u32 magic;  // kChunkMagic; 0: punched out or never used
  u32 index;
  u32 stream;  // Stream
  u32 epoch;   // data only
  u32 tid;     // OS thread id of the (first) owner, data only
  u32 reserved[3];
  u64 first_ticks;   // when the chunk was taken
  u64 folded_bytes;  // in a folded file: size of this chunk with its header; else 0
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

// head.id = OS thread id of the thread that owns the chunk from here on.
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

// head.id = name id. Followed by a RangeLink (kRangeLinked), a StackRef (kRangeStack), then `inputs` encoded inputs
// (see InputHead).
struct RangeRecord {
  RecordHead head;
  u64 begin_ticks;
  u64 end_ticks;  // patched; 0: unfinished, or a range_end record holds the end
  u8 scope;       // Scope
  u8 flags;       // RangeFlag
  u16 inputs;     // encoded inputs that follow
  i32 sequence;   // autograd sequence number, -1 none; the RangeLink has it if there is one
};
static_assert(sizeof(RangeRecord) == 32);

// For the few ranges that have a forward thread (backward nodes) or a sequence number of more than 31 bits.
struct RangeLink {
  i64 sequence;
  u64 forward_thread;  // torch's logical id of the forward thread, 0 none
};

// The call stacks of an event: ids of the StackRecord of the innermost frame; 0: none; kStackLost: there was no room.
struct StackRef {
  u32 python;
  u32 native;
};
constexpr u32 kStackLost = 0xffffffff;
// The file name of tprof's own code objects. On Python before 3.12 some functions of torch are called through one,
// which call stacks leave out.
constexpr char kOwnFile[] = "<tprof>";

// A reference to a record: chunk index << 32 | byte offset in the chunk.
using RecordRef = u64;

struct RangeEndRecord {
  RecordHead head;
  RecordRef begin;
  u64 end_ticks;
};

// What an allocator reported: head.id = device type (c10::DeviceType) | u8(device index) << 8 | MemoryFlag << 16.
// The stamp is that of the report: after an allocation, before a release. Followed by a StackRef (kMemoryStack).
struct MemoryRecord {
  RecordHead head;
  u64 ticks;
  u64 address;
  i64 bytes;            // < 0: released
  u64 total_allocated;  // of the device, after this report
  u64 total_reserved;   // 0 on CPU
};
static_assert(sizeof(MemoryRecord) == 48);

enum MemoryFlag : u8 {
  kMemoryOutOfMemory = 1,  // `bytes` could not be allocated; no address
  kMemoryStack = 4,        // a StackRef follows
  kMemoryShared = 2,       // shared memory or a mapped file: not part of the totals, which stay as they were
};

// One operator input. `count` and the payload depend on the tag; payloads are padded to 8 bytes.
enum class InputTag : u8 {
  none = 0,          // None, or a kind that traces do not show; no payload
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
  other_list = 12,    // a list whose elements are not recorded; `count` elements
  other = 13,         // some other value; no payload
  object = 14,        // of a custom class: payload u64, the address of its C++ object
};

enum InputFlag : u8 {
  kInputWide = 1,       // sizes and strides are 8 bytes each
  kInputCut = 2,        // the list or string was longer than what is stored; its length is not kept
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

// --- data stream: the GPU side. Stamps in ns come from CUPTI and are CLOCK_REALTIME of the host. Correlation ids, from
// CUPTI too, tie a call to what it launched (0: none). Ids of devices, contexts and streams are CUPTI's numbers, not
// handles.

// The purpose of an interposed call. See shim/hooks.def.
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
  other = 10,
  comm = 11,  // NCCL: makes a communicator
};

enum CallFlag : u8 {
  kCallDriver = 1,      // a call of the driver API
  kCallAsync = 2,       // asynchronous: ordered by its stream
  kCallHostMemory = 4,  // alloc, free: memory of the host (pinned)
  kCallManaged = 8,     // alloc: managed memory
  kCallVirtual = 16,    // alloc, free: physical memory of the virtual-memory API, `address` is its handle
  kCallOnComm = 32,     // nccl, comm: a NcclPart follows the CallRecord
};

// One call into CUDA or NCCL, seen by an interposed function; head.id = name id of the function.
struct CallRecord {
  RecordHead head;
  u64 begin_ticks;
  u64 end_ticks;  // patched with the fields after it; 0: unfinished, or a range_end record holds the end
  u64 address;    // alloc, free: the memory; copy, set: the destination; launch: the host function; else 0
  u64 bytes;      // alloc, copy, set: size; nccl: count; free: 0
  u64 stream;     // the handle, 0 none or the default stream
  i32 result;     // cudaError_t, CUresult or ncclResult_t
  u8 family;      // CallFamily
  u8 flags;       // CallFlag
  i8 device;      // the current device, for alloc that of the memory; -1 unknown
  u8 detail;      // copy: cudaMemcpyKind; nccl: ncclDataType_t; else 0
  StackRef stack;
};
static_assert(sizeof(CallRecord) == 64);

// The communicator of a call into NCCL.
struct NcclPart {
  u64 group;   // the same number on all its ranks, and no other communicator has it; 0: not known
  i64 number;  // of a collective among those of the communicator, from 1; -1: none, as sends and receives have none
  i32 peer;    // the root or, of a send or receive, the other rank, as numbers in the communicator; -1 none
  i32 rank;    // of this process in the communicator; -1 not known
  u32 ranks;   // 0 not known
  u32 reserved;
};
static_assert(sizeof(NcclPart) == 32);

// Words of NCCL's profiler interface that are not known are kept as this.
constexpr u8 kNcclUnknown = 255;

// An operation that NCCL has launched, as it tells its profiler; head.id = its number in the process, never 0.
struct NcclOpRecord {
  RecordHead head;
  u64 ticks;
  u64 group;   // NCCL's own number of the communicator
  u64 number;  // NCCL counts by function; sends and receives: 0
  u64 count;
  i32 peer, rank;  // as in NcclPart
  u32 ranks;
  u8 function, type, algorithm, protocol;  // rows of base/nccl.def; type is ncclDataType_t
};
static_assert(sizeof(NcclOpRecord) == 56);

// Data on its way through the network: an operation of NCCL's proxy thread; head.id = the number of the NcclOpRecord.
struct NcclWireRecord {
  RecordHead head;
  u64 begin_ticks, end_ticks;
  i32 peer;
  u32 pieces, piece_bytes;
  u16 channel;
  u8 sends, reserved;
};
static_assert(sizeof(NcclWireRecord) == 40);

// One call of the CUDA runtime or driver, reported by CUPTI; head.id = name id of the function.
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

// Where an activity ran, and the call that launched it; part of the records below.
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
  i32 priority;                       // of the stream; INT32_MIN unknown
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
  u32 from_device, to_device;  // both are place.device unless the copy is between devices
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
  u32 event_sync;  // CUPTI's number of the cudaEventRecord that is waited for, 0 unknown
};
static_assert(sizeof(SyncRecord) == 48);

// A cudaEventRecord: head.id = the event's id.
struct GpuEventRecord {
  RecordHead head;
  GpuPlace place;
  u64 device_ns;  // when the device reached the event, 0 unknown
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

// Time that CUPTI itself took: head.id = CUpti_ActivityOverheadKind.
struct OverheadRecord {
  RecordHead head;
  u64 begin_ns, end_ns;
  u32 object_kind;  // CUpti_ActivityObjectKind
  u32 object;       // thread id, device id ... by kind
  u32 correlation;
  u32 reserved;
};
static_assert(sizeof(OverheadRecord) == 40);

// Memory that the CUDA driver allocated or freed, reported by CUPTI: head.id = CUpti_ActivityMemoryOperationType |
// memory kind << 8.
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
  u32 module;     // id of a ModuleRecord if this is the call of an nn.Module; else 0
  u32 flags;      // PythonCallFlag
};
static_assert(sizeof(PythonCallRecord) == 32);

// A part of the life of a DataLoader's worker, or a draw: head.id = LoaderPart. Written when it is over, in the window
// in which that is; a part during which a window ended counts for that window.
struct LoaderRecord {
  RecordHead head;
  u64 begin_ticks, end_ticks;
  u64 loader;   // the same in all processes of one DataLoader's iterator, another one for each iterator
  i32 worker;   // its number in the loader; -1: the program
  u32 workers;  // of the loader; the program: 0
  u64 detail;   // fetch: ticks of it in collate_fn, 0 made no batch; draw: the address of the DataLoader, 0 not known
  u64 cpu_ns;   // fetch: CPU time of the process
};
static_assert(sizeof(LoaderRecord) == 56);

// --- data stream of a companion: samples

enum SampleFlag : u32 {
  kSampleOnCpu = 1,    // the thread ran or was ready to run; else it slept or was stopped
  kSampleGil = 2,      // it held the GIL
  kSampleChanged = 4,  // its innermost frames changed while they were read: they are of moments some microseconds apart
  kSampleCut = 8,      // it has more frames, further out
  kSampleNoNative = 16,    // its native frames were asked for and could not be read
  kSampleNotStopped = 32,  // it was blocked in a system call that a stop might break: its native frames were read there
};

// The stack of one thread: head.id = OS thread id.
struct SampleRecord {
  RecordHead head;
  u64 ns;          // CLOCK_MONOTONIC
  StackRef stack;  // ids of the StackRecords of the innermost frames; kStackLost: there was no room
  u32 flags;       // SampleFlag
  u32 stopped_ns;  // how long the thread was stopped for its native frames
};
static_assert(sizeof(SampleRecord) == 32);

// One look at all threads: head.id = how many samples it gave.
struct SampleRoundRecord {
  RecordHead head;
  u64 ns;      // CLOCK_MONOTONIC
  u32 missed;  // looks that were due since the one before, and were too late
  u32 unread;  // threads whose frames could not be read consistently; kAllUnread: the threads could not be found
};
static_assert(sizeof(SampleRoundRecord) == 24);
constexpr u32 kAllUnread = 0xffffffff;

// --- data stream: NVTX

enum class NvtxWhat : u8 { push_pop = 0, start_end = 1, mark = 2 };
enum class NvtxPayload : u8 { none = 0, unsigned_integer = 1, integer = 2, floating = 3 };

// A range or mark of the user: head.id = name id of the message. end_ticks as in RangeRecord; 0 for marks.
struct NvtxRecord {
  RecordHead head;
  u64 begin_ticks;
  u64 end_ticks;    // patched
  u64 payload;      // bits, by payload_type
  u32 domain;       // name id, 0: the default domain
  u32 category;     // name id of the category, or its number | kNvtxNumber; 0 none
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

// A Python code object: head.id = its id, from 1. Followed by its line table, `table_bytes` long and padded, in the
// format of that Python (co_lnotab before 3.10, co_linetable since).
struct CodeRecord {
  RecordHead head;
  u32 name;  // name id of co_name, which is what torch shows
  u32 file;  // name id of co_filename
  i32 first_line;
  u32 table_bytes;
  u16 python;  // major << 8 | minor: decides the format of the table
  u16 reserved[3];
};
static_assert(sizeof(CodeRecord) == 32);

// One frame of a call stack: head.id = its id, from 1. Equal frames with the same caller are one record.
struct StackRecord {
  RecordHead head;
  u32 parent;  // id of the caller's frame, 0: the outermost
  u32 code;    // id of a CodeRecord; 0: a native frame; kStackCut: the frames outside of the next one are not recorded
  // Python: byte offset of the current instruction in the code | kStackEntered. Native: return address | maps <<
  // kMapShift; of a function that a signal interrupted, the address of its next instruction plus 1.
  u64 at;
};
static_assert(sizeof(StackRecord) == 24);
constexpr u32 kStackCut = 0xffffffff;
// The interpreter was entered with this frame: one native frame evaluates it and the frames inside of it, up to the
// next frame with this flag. Set from Python 3.11 on; before, every frame enters the interpreter.
constexpr u64 kStackEntered = u64(1) << 63;
// `maps` counts how often a mapped file had been unmapped before: equal addresses with different counts may lie in
// different files.
constexpr u32 kMapShift = 48;
constexpr u64 kMaxMaps = 0xffff;

// An nn.Module object: head.id = its id, from 1.
struct ModuleRecord {
  RecordHead head;
  u32 class_name;  // name id
  u32 number;      // how many modules of its class were seen before it
  u64 parameters;  // elements of its parameters and those of its children; kUnknown: not counted
  u64 parameter_bytes;
  static constexpr u64 kUnknown = ~u64(0);
};
static_assert(sizeof(ModuleRecord) == 32);

// A mapped file: head.id = maps, see kMapShift. An address in [begin, end) belongs to the last such record whose maps
// do not exceed its own.
struct ImageRecord {
  RecordHead head;
  u64 begin, end;      // addresses
  u64 bias;            // address - bias = address in the file's symbol table
  u64 ticks;           // when it was first seen
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

// head.id = OS thread id. A longer name continues after the record, padded with zeros.
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

// The source of a step; also how sure the detector is of it.
enum class StepBy : u32 {
  none = 0,
  api = 1,              // tprof_step()
  profiler_step = 2,    // the script's own ProfilerStep#
  option = 3,           // TPROF_STEP, of another kind than 9
  dataloader = 4,       // training: an update, on a batch drawn
  optimizer = 5,        // training: an update, no batch drawn
  forward = 6,          // inference: calls of the leading nn.Module
  backward = 7,         // training without an optimizer: backward passes and cleared gradients
  inference_batch = 8,  // inference: batches of the leading loader
  range = 9,            // TPROF_STEP=range:REGEX or nvtx:REGEX: the step ends with its range
};

// head.id = StepBy. Steps are consecutive; number counts from 0 and only grows.
struct StepRecord {
  RecordHead head;
  i64 number;
  u64 begin_ticks;  // patched while the step is tentative
  u64 end_ticks;    // patched; 0: open
  u32 flags;        // patched; StepFlag
  u32 tid;
  // What shows where an iteration ended if no other one follows (model/step_edges.h). All patched, 0: not seen.
  u64 work_ticks;      // training: when its newest update ended; inference: when its newest call returned
  u64 loop_end_ticks;  // its iteration ended: its loader was drawn from again, or found exhausted. Before work_ticks:
                       // the loader is drawn from in advance, and was exhausted. By a stated range: that range ended
  u32 updates;         // how many updates were seen
  u32 reserved;
};
constexpr u32 kOldStepBytes = 40;  // before version 1.13 it ended after `tid`
enum StepFlag : u32 {
  kStepTentative = 1,  // nothing has been seen yet that makes it a step
  kStepHasWork = 2,    // that has been seen: in training a backward pass or an update, else a forward
  kStepWithdrawn = 4,  // it was no step: the batch drawn for it belonged to an evaluation, the loader was exhausted, or
                       // the program ended without its update
  kStepGuessed = 8,    // the signs of a step disagreed
  kStepBefore = 16,    // set by readers only: counted before the RestartRecord by which training began
  kStepEntered = 32,   // recording was started inside of it (tprof_start(), cudaProfilerStart)
  kStepLeft = 64,      // ... and stopped inside of it
};

// A stretch in which a training program does something else: head.id = StretchKind. It lies between two steps, or
// inside one.
// STRETCH(number, name, the name of its events up to its number, its key in documents)
//   evaluation: batches with forwards but no backward pass, or calls of the module that trains in eval mode
//   inference: calls without gradients in training mode, without a loader: a rollout, sampling
//   after_loop: made by readers only: what lies behind the last step of a loop
//   left_over: made by readers only: batches at the program's end whose gradients were never used
//   between: made by readers only: what lies between two steps that end with their range
#define TPROF_STRETCHES(STRETCH)                          \
  STRETCH(1, evaluation, "Evaluation#", "evaluations")    \
  STRETCH(2, inference, "Inference#", "inferences")       \
  STRETCH(3, after_loop, "After the loop#", "after_loop") \
  STRETCH(4, left_over, "Left over#", "left_over")        \
  STRETCH(5, between, "Between the steps#", "between")

enum class StretchKind : u32 {
#define STRETCH(number, name, prefix, key) name = number,
  TPROF_STRETCHES(STRETCH)
#undef STRETCH
};
constexpr u32 kStretchKinds = 5;
struct StretchRecord {
  RecordHead head;
  i64 number;  // of its kind, from 0
  u64 begin_ticks;
  u64 end_ticks;  // patched; 0: open
  u32 batches;    // patched: batches drawn for it; 0: it has no loader
  u32 calls;      // patched: forwards seen
  u32 left_out;   // patched: how many of the batches (without a loader: of the calls) were not recorded
  u32 flags;      // patched; StretchFlag
  u32 tid;
  u32 reserved;
};
enum StretchFlag : u32 {
  kStretchWithdrawn = 1,  // it turned out to be none
  kStretchInside = 2,     // inside a step, between its first backward pass and its update
  kStretchBefore = 4,     // seen before any sign of training: it counts if a RestartRecord follows
};

// A batch of a stretch was drawn, or without a loader a call of it began: the stretch may be cut here.
struct StretchPartRecord {
  RecordHead head;
  u64 ticks;
};

// Counting started again: steps with this number or a higher one that were written before are void. head.id =
// RestartWhy.
enum class RestartWhy : u32 {
  training = 1,  // the steps so far were counted as inference, and then the program began to train
  recount = 2,   // what was counted as steps were parts of one step
};
struct RestartRecord {
  RecordHead head;
  i64 number;  // of the step that begins at `ticks`
  u64 ticks;
};

enum class WindowState : u32 { warmup = 0, active = 1, closing = 2, sealed = 3, discarded = 4 };

// head.id = the window's number w, patched too in flight mode. The rest is patched while the window is recorded.
struct WindowRecord {
  RecordHead head;
  std::atomic<u32> state;  // WindowState; once sealed, its data chunks do not change
  u32 tid;
  i64 first_step;    // first active step, -1: no schedule, everything is recorded
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

// A process group of torch.distributed, as it was at `ticks`: head.id = how many ranks it has.
struct GroupRecord {
  RecordHead head;
  u64 address;  // of its C++ object, see InputTag::object
  u64 ticks;
  i64 sequence;                  // of its last collective, as torch counts; -1 not known
  u32 name, description, ranks;  // name ids; ranks: "[0, 2]"
  u32 reserved;
};
static_assert(sizeof(GroupRecord) == 48);

// head.id = flush number from 1.
struct FlushRecord {
  RecordHead head;
  u64 ticks;
};

// What asked for a trace. TRIGGER(number, name, text)
#define TPROF_TRIGGERS(TRIGGER)                     \
  TRIGGER(1, signal, "a signal, or tprof_flush()")  \
  TRIGGER(2, hand, "tprof_start() or tprof_stop()") \
  TRIGGER(3, file, "tprof trigger")                 \
  TRIGGER(4, slow_step, "a slow step")              \
  TRIGGER(5, out_of_memory, "out of memory")        \
  TRIGGER(6, rank, "another rank")                  \
  TRIGGER(7, hang, "a hang")

enum class TriggerWhy : u32 {
#define TRIGGER(number, name, text) name = number,
  TPROF_TRIGGERS(TRIGGER)
#undef TRIGGER
};

// head.id = the number of the window that is to be written: in flight mode the one that was open, else one that was
// opened for it.
struct TriggerRecord {
  RecordHead head;
  u64 ticks;
  u32 why;  // TriggerWhy
  u32 reserved;
  i64 steps;  // flight mode: how many of the last steps were asked for, 0: all
  // slow_step: its number, and how many thousandths of the median it took; out_of_memory: bytes, and 1 on a GPU; rank:
  // its number, and the step that it named | kStepWasPast; hang: for how many seconds, and 1 if it was a collective.
  u64 detail[2];
  // Flight mode: the number of the first step that began since the window before ended, and of the last one that has
  // ended. Records of steps that the ring no longer holds are gone; how many there were follows from these.
  i64 first_step, ended_step;
};
static_assert(sizeof(TriggerRecord) == 64);
constexpr u64 kStepWasPast = u64(1) << 63;

}  // namespace tprof
