// Writes one recording from inside the profiled program. Runs in hooks: no malloc, no throw, no stdio. See record.h
// for the format.
//
// One instance per process (g_writer), constant-initialised and never destroyed: threads may still record while
// static destructors run. No descriptor stays open: the file is opened by its absolute path for each new chunk
// and compared by device and inode.
#pragma once
#include <limits.h>
#include <sys/stat.h>

#include <atomic>

#include "base/clock.h"
#include "base/uncancelled.h"
#include "record/record.h"

namespace tprof {

// A lock for rare paths. Never held while foreign code is called. Reset in forked children.
class SpinLock {
 public:
  void lock();
  bool try_lock() { return taken_.exchange(1, std::memory_order_acquire) == 0; }
  bool lock_within(u64 ns);
  void unlock() { taken_.store(0, std::memory_order_release); }
  void reset() { taken_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<u32> taken_{0};
};

template <class Lock>
class SpinGuard {
 public:
  explicit SpinGuard(Lock& lock) : lock_(lock) { lock_.lock(); }
  ~SpinGuard() { lock_.unlock(); }
  SpinGuard(const SpinGuard&) = delete;

 private:
  Uncancelled uncancelled_;
  Lock& lock_;
};

struct RecordingSpec {
  const char* path;  // absolute; the directory is created if it is missing
  const char* host;
  u32 pid;
  u32 parent_pid;
  u64 created_ns;
  u64 base_time_ns;
  u64 max_bytes;
  Role role;
  bool reports;         // may print a line with the reason why recording stopped
  bool flight = false;  // flight mode: steps have chunks of their own (Stream::steps)
};

// Both ends belong to it.
struct EpochRange {
  u32 first, last;
};

class Writer {
 public:
  // Creates the file. Returns false, with errno, if that is impossible; then no file is left.
  bool create(const RecordingSpec& spec);
  bool is_open() const { return header_ != nullptr; }
  FileHeader* header() const { return header_; }
  const char* path() const { return path_; }

  // --- chunks
  // A chunk for one thread (data) or for the meta stream, with its header filled in; nullptr when recording has
  // stopped. Never blocks on anything but the file system, and on that only when no chunk is ready.
  ChunkHeader* take_chunk(Stream stream, u32 epoch, u32 tid);
  // Gives up the mapping of a chunk that will not be written again. `full`: because it is full.
  void retire_chunk(ChunkHeader* chunk, bool full = false);
  // For the helper thread: prepares chunks ahead, with their pages, and unmaps retired ones.
  void top_up();
  void unmap_retired();
  // How many chunks were retired because they were full.
  u32 full_chunks() const { return full_chunks_.load(std::memory_order_relaxed); }

  // --- flight mode (write_again.cpp)
  // How many data chunks are of `epoch` or a later one. Those of steps do not count.
  u32 chunks_from(u32 epoch) const;
  // Gives back the data chunks of epochs that lie in none of these ranges, into which nobody writes any more: their
  // space goes to the file system, and they are used again. So do the chunks with the steps before all of them.
  void give_back(const EpochRange* kept, u32 count);

  // Grows whenever a thread found no chunk ready.
  u32 misses() const { return misses_.load(std::memory_order_relaxed); }

  // --- the file may be shortened under the mapping: see mapping.h
  // True if it was: further records go to memory that nobody reads.
  bool is_cut() const { return cut_.load(std::memory_order_relaxed); }
  // Whether the header is still the one that create() made, so that its counts may be waited for.
  bool has_header() const;
  // Whether the file still has its name.
  bool in_place() const;
  // Stops recording if the file was moved, deleted or cut and no thread has noticed it so far.
  void stop_if_gone();

  // --- events lost before they became records
  void drop(Drop reason, u64 count = 1);
  bool stopped() const { return is_cut() || stopped_.load(std::memory_order_relaxed); }

  // --- meta stream. Each returns nullptr or false if there is no room, which callers must expect.
  const NameRecord* add_name(const char* text, size_t bytes);  // not deduplicated, see recorder.h
  void add_thread(u32 tid, u64 torch_thread, const char* name);
  void add_clock(const ClockTriple& clock);
  // This record and `before` (nullptr: none) may be changed until the next one is added, and no other.
  StepRecord* add_step(StepBy by, i64 number, u64 begin, u32 tid, const StepRecord* before);
  StretchRecord* add_stretch(StretchKind kind, i64 number, u64 begin, u32 tid);
  void add_stretch_part(u64 ticks);
  void add_restart(RestartWhy why, i64 number, u64 ticks);
  WindowRecord* add_window(u32 number, WindowState state, u64 warmup, u32 tid);
  void add_capability(const char* name, bool on, const char* why);
  void add_info(const char* key, const char* value);
  void add_flush(u32 number, u64 ticks);
  void add_trigger(u32 window, const TriggerRecord& trigger);
  void add_group(u32 size, const GroupRecord& group);  // the head need not be filled, nor below
  void add_device(u32 id, const DeviceRecord& device);
  void add_context(u32 id, const ContextRecord& context);
  void add_module(u32 id, const ModuleRecord& module);
  // A code object with its line table; returns nullptr also for one that is too large for a chunk.
  const CodeRecord* add_code(u32 id, const CodeRecord& code, const char* table);
  void add_image(u32 maps, const ImageRecord& image);
  bool add_stack(u32 id, u32 parent, u32 code, u64 at);
  // To be called after patching a meta record: notifies whoever watches the recording.
  void touch_meta() { header_->meta_sequence.fetch_add(1, std::memory_order_release); }

  // Ends the recording normally. `closed`: FileHeader::closed. Does not unmap.
  void close(u32 closed = kClosed);
  // Forgets the file without touching it (in a forked child), or removes it (nothing was recorded).
  void forget();
  void remove();
  u32 data_chunks() const { return data_chunks_.load(std::memory_order_relaxed); }

 private:
  static constexpr int kMaxReady = 32;
  static constexpr int kMaxRetired = 128;
  // Chunks beyond are not used again: more than flight mode ever has (kFlightParts times kMaxFlightBytes).
  static constexpr u32 kMaxTracked = 1 << 16;
  // What a chunk is, if not 1 + the epoch of its data.
  static constexpr u32 kNoData = 0, kFree = 0xffffffff, kNone = 0xffffffff;
  static constexpr u32 kSteps = 0x80000000;  // | 1 + the epoch by which it was surely full

  ChunkHeader* prepare(bool ahead);
  ChunkHeader* map_chunk(u32 index, bool ahead);
  int open_again(struct stat& s) const;
  u32 take_free();
  void note_free(u32 index);
  void note_epoch(u32 chunk, u32 epoch_or_kind);
  bool clear_chunk(int fd, u32 index);
  void stop(Drop reason, const char* line);
  void stop_if_cut();
  bool is_ours(const struct stat& s) const;
  struct MetaChunk {
    char* at = nullptr;  // its header
    size_t used = 0;     // bytes, with the header
  };
  bool has_room(const MetaChunk& chunk, size_t bytes) const { return chunk.at && chunk.used + bytes <= kChunkBytes; }
  char* space_in(MetaChunk& chunk, Stream stream, size_t bytes);
  char* meta_space(size_t bytes);
  char* steps_space(size_t bytes);
  bool is_patched(const ChunkHeader& chunk) const;
  void publish(char* at, Kind kind, u32 id, size_t bytes);
  template <class Record>
  void add_copy(Kind kind, u32 id, const Record& record, Stream stream = Stream::meta);
  void add_pair(Kind kind, u32 id, const char* first, const char* second);

  FileHeader* header_ = nullptr;
  std::atomic<bool> cut_{false};  // pages of the file are lost
  std::atomic<u64> end_{0};       // the file was at least this long
  u64 device_ = 0, inode_ = 0;
  u64 max_bytes_ = 0;
  bool reports_ = false;
  std::atomic<bool> stopped_{false};
  SpinLock meta_lock_;
  MetaChunk meta_, steps_;             // the current ones
  ChunkHeader* steps_full_[3] = {};    // those before it, as long as they hold a step that is patched
  const StepRecord* patched_[2] = {};  // the steps that may still be changed
  bool flight_ = false;
  u32 next_name_ = 1;
  std::atomic<ChunkHeader*> ready_[kMaxReady] = {};
  std::atomic<ChunkHeader*> retired_[kMaxRetired] = {};
  std::atomic<u32> misses_{0};
  std::atomic<u32> data_chunks_{0};
  std::atomic<u32> full_chunks_{0};
  std::atomic<u32> free_{0};        // chunks that may be used again
  std::atomic<u32> next_chunk_{0};  // that was never given out; FileHeader::chunks once its space is there
  std::atomic<u32> chunk_epochs_[kMaxTracked] = {};
  u32 want_ready_ = 4;
  u32 seen_misses_ = 0;
  char path_[PATH_MAX] = {};
};

extern Writer g_writer;

}  // namespace tprof
