// Reads a recording: live, finished, truncated or damaged. Every length is checked against its chunk; what cannot be
// used is skipped and counted in Damage. Uses pread only, so that a file which shrinks meanwhile causes a short read
// and not a SIGBUS.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/string_once.h"
#include "record/record.h"

namespace tprof {

// What was found wrong while reading.
struct Damage {
  u64 bad_chunks = 0;      // the header or the index is wrong
  u64 bad_records = 0;     // a length or field is impossible; a wrong length loses the rest of the chunk
  u64 unknown_kinds = 0;   // skipped records of kinds that this version does not know
  u64 missing_chunks = 0;  // beyond the end of the file
  bool any() const { return bad_chunks || bad_records || missing_chunks; }
};

struct StepInfo {
  i64 number;
  StepBy by;
  u64 begin_ticks;
  u64 end_ticks;  // 0: open
  u32 flags;      // StepFlag
  u32 tid;
  u64 work_ticks, loop_end_ticks;  // see StepRecord
  u32 updates;
};

struct StretchInfo {
  StretchKind kind;
  i64 number;
  u64 begin_ticks, end_ticks;  // end 0: open
  u32 batches, calls, left_out;
  u32 flags;  // StretchFlag
  u32 tid;
};

struct WindowInfo {
  u32 number;
  WindowState state;
  u32 tid;
  i64 first_step;  // -1: everything
  i64 end_step;    // -1: open
  u64 warmup_ticks, begin_ticks, end_ticks;

  bool is_recorded() const {
    return state != WindowState::warmup && state != WindowState::discarded && begin_ticks != 0;
  }
};

// "a signal, or tprof_flush()"
std::string trigger_text(const TriggerRecord& trigger);

struct ThreadInfo {
  u32 tid;
  u64 torch_thread;
  u64 begin_ticks;
  std::string name;
};

struct CapabilityInfo {
  std::string name;
  bool on;
  std::string why;
};

struct CodeInfo {
  u32 name, file;  // name ids
  i32 first_line;
  u16 python;         // major << 8 | minor
  std::string table;  // see CodeRecord
};

// The whole meta stream, validated and copied.
struct Meta {
  std::map<u32, std::string> names;
  std::map<u32, ThreadInfo> threads;   // by tid
  std::vector<ClockTriple> clocks;     // sorted by ticks, strictly increasing in ticks and monotonic_ns
  std::vector<StepInfo> steps;         // in order of number; a recount marks those before it as withdrawn
  std::vector<StretchInfo> stretches;  // in order of begin_ticks
  std::vector<u64> stretch_parts;      // ticks, ascending
  u64 training_ticks = 0;              // when counting started again because training began; 0: it did not
  std::vector<WindowInfo> windows;     // in order of number
  std::map<std::string, CapabilityInfo> capabilities;  // the last record of each
  std::map<std::string, std::string> info;             // the last value of each key
  std::vector<GroupRecord> groups;                     // in order of `ticks`
  std::vector<u64> flushes;                            // ticks
  std::vector<TriggerRecord> triggers;                 // in order of writing
  std::map<u32, DeviceRecord> devices;                 // by number; names are terminated
  std::map<u32, ContextRecord> contexts;               // by id
  std::map<u32, CodeInfo> codes;                       // by id
  std::map<u32, StackRecord> stacks;                   // by id
  std::map<u32, ModuleRecord> modules;                 // by id
  std::vector<ImageRecord> images;                     // in order of `ticks`

  // Whether the program ran in flight mode.
  bool is_flight() const { return option("mode").starts_with("flight"); }
  // The value of `info` for an option of the program; empty if it was not recorded.
  std::string option(const std::string& name) const {
    auto it = info.find("option." + name);
    return it == info.end() ? "" : it->second;
  }
};

// One record of a chunk. `record` points into the chunk's buffer, is 8-byte aligned, and `words * 8` bytes long.
struct RecordView {
  const RecordHead* record;
  RecordRef ref;
  u32 tid;
  u32 epoch;
  template <class T>
  const T& as() const {
    return *reinterpret_cast<const T*>(record);
  }
  size_t bytes() const { return size_t(record->words) * 8; }
  Kind kind() const { return static_cast<Kind>(record->kind); }
};

// Where a reader stands in a chunk that may still grow.
struct ChunkPlace {
  u32 index = 0;
  u32 epoch = 0;
  u32 tid = 0;  // the thread whose records come next
  u32 at = 0;   // byte offset of the next record; kChunkBytes: none can follow
};

// A range record and the parts that follow it.
struct RangeView {
  u64 begin_ticks, end_ticks;
  i64 sequence;
  u64 forward_thread;
  u8 scope, flags;
  u16 inputs;
  const char* inputs_at;
  u32 inputs_bytes;
  StackRef stack;
};

inline bool is_range(const RecordView& view) { return view.kind() == Kind::range; }
// Only for what for_each_data() visits: lengths were checked there.
RangeView range_of(const RecordView& view);
// Zeros for what an older version did not write.
StepRecord step_of(const RecordView& view);
StackRef stack_of(const MemoryRecord& record);
// The moment that decides to which window an event belongs; 0 for a record that is no event of its own, or that has
// no ticks: for those of CUPTI see stamp_of() in model/clock_map.h.
u64 event_ticks(const RecordView& view);

class Recording {
 public:
  // Throws Error(Fault::unreadable) with one line when the file cannot be opened, is not a recording, or has an
  // unknown major version. `begin`: its offset in a folded file, see recordings_in().
  static std::unique_ptr<Recording> open(const std::string& path, u64 begin = 0);
  ~Recording();
  Recording(const Recording&) = delete;

  const std::string& path() const { return path_; }
  // A snapshot taken at open() or the last refresh().
  const FileHeader& header() const { return *header_; }
  void refresh();  // throws as open() does; header() then stays as it was
  // True when the file ends before its last chunk does.
  bool is_cut() const;

  bool is_folded() const { return is_folded_; }

  // True while the process that writes this recording is running (same pid, start time and boot).
  bool writer_alive() const;

  // Calls `visit` for each whole record of each data chunk with an epoch in [first, last], chunk by chunk in the order
  // of their use (so in time order per thread). The record is only valid during the call.
  void for_each_data(u32 first_epoch, u32 last_epoch, const std::function<void(const RecordView&)>& visit);

  // The same for these chunks, in this order.
  void for_each_data_in(const std::vector<u32>& chunks, const std::function<void(const RecordView&)>& visit);

  // Indices of the data chunks with an epoch in [first, last] that are still in the file, in the order of their use.
  std::vector<u32> data_chunks(u32 first_epoch, u32 last_epoch);

  // The headers of the chunks that are in use, in order of their indices.
  struct UsedChunks {
    std::vector<ChunkHeader> headers;
    u32 punched_out = 0;  // how many are not there any more
  };
  UsedChunks used_chunks();

  // The number of chunks of both streams; never more than fit the file, whatever its header states.
  u32 chunk_count();
  // The header and records of a chunk, without the unused rest; empty for one that was punched out. Valid until the
  // next call of any function of this class.
  std::string_view used_part(u32 index);

  Meta read_meta();

  // --- for those who follow a recording while it is written (read_on.cpp); not for folded ones
  // False: the chunk was punched out, is not used yet, or is no chunk.
  bool chunk_header(u32 index, ChunkHeader& out) const;
  // The start of the records of a chunk.
  static ChunkPlace place_in(u32 index, const ChunkHeader& header);
  // Visits the records that were added behind `place` and moves it. They are read in pieces: reads() grows with each
  // one, before its first record is visited.
  void read_on(ChunkPlace& place, const std::function<void(const RecordView&)>& visit);
  u64 reads() const { return reads_; }
  // Reads bytes of the record at `ref` anew, from `offset` in it on: fields that are patched. False: they are gone.
  bool read_again(RecordRef ref, size_t offset, void* to, size_t bytes) const;
  // Whether its file has been removed or replaced, so that nothing will be added to what is open here.
  bool is_gone() const;

  const Damage& damage() const { return damage_; }

 private:
  Recording() = default;
  struct Extent {
    u64 offset, bytes;
  };
  void check_header(const FileHeader& h) const;
  Extent extent_of(u32 index) const;
  void find_folded_chunks();
  bool read_chunk_header(u32 index, ChunkHeader& out);
  // Visits the records of buffer_, which holds the bytes [from, end) of the chunk, and moves `place`; none may reach
  // beyond `limit`. True: a record lies behind `end`; false: there is no further one.
  bool visit_records(ChunkPlace& place, size_t from, size_t end, size_t limit,
                     const std::function<void(const RecordView&)>& visit);
  // Returns how many bytes of the chunk are in use: all of them if one record is damaged.
  size_t for_each_record(u32 index, const std::function<void(const RecordView&)>& visit);

  std::string path_;
  u64 begin_ = 0;
  int fd_ = -1;
  bool is_folded_ = false;
  std::vector<Extent> folded_;  // the chunks of a folded recording
  std::unique_ptr<FileHeader> header_;
  std::unique_ptr<char[]> buffer_;  // kChunkBytes, not set to anything before they are read
  u64 reads_ = 0;
  Damage damage_;
};

// The offset of each recording in a file; 0 alone if it is no folded file. Throws as open() if there is no file.
std::vector<u64> recordings_in(const std::string& path);

// Whether a file is what a program leaves that is killed at the moment at which it creates its recording: empty space
// for a header, in which nothing was ever written.
bool is_unbegun(const std::string& path);

}  // namespace tprof
