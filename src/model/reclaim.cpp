#include "model/reclaim.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model/build.h"
#include "record/companion.h"
#include "record/mapping.h"
#include "record/regular_file.h"

namespace tprof {
namespace {

// What decides whether a chunk may be punched out.
struct ChunkUse {
  u32 epoch = 0;
  bool needed = false;
};

// True if an event at `ticks` may still be needed.
bool is_wanted(u64 ticks, const Meta& meta, const std::set<u32>& written) {
  for (const WindowInfo& w : meta.windows) {
    if (w.state == WindowState::discarded) continue;
    bool inside = ticks >= w.begin_ticks && (w.end_ticks == 0 || ticks < w.end_ticks);
    // A window that still warms up begins at a stamp that is not known yet.
    if (w.state == WindowState::warmup) inside = ticks >= w.warmup_ticks;
    if (inside && !written.count(w.number)) return true;
  }
  return false;
}

bool is_done(const WindowInfo& w, const std::set<u32>& written) {
  return w.state == WindowState::discarded || written.count(w.number);
}

// The highest epoch that has ended: that of the last window that is written or discarded.
i64 last_done_epoch(const Meta& meta, const std::set<u32>& written) {
  i64 last = -1;
  for (const WindowInfo& w : meta.windows) {
    if (w.first_step == -1) return -1;
    if (is_done(w, written)) last = std::max(last, i64(w.number) * 2 + 1);
  }
  return last;
}

// Every window of an epoch below this is done.
u64 first_epoch_not_done(const Meta& meta, const std::set<u32>& written) {
  u64 epoch = 0;
  for (const WindowInfo& w : meta.windows) {
    if (!is_done(w, written)) break;
    epoch = 2 * u64(w.number) + 2;
  }
  return epoch;
}

bool punch(int fd, u32 chunk) {
  off_t at = kHeaderBytes + off_t(chunk) * kChunkBytes;
  return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, kChunkBytes) == 0;
}

// The samples of windows that are written. The sampler is at a later epoch by now.
void punch_samples(const Recording& recording, u64 first_epoch_not_done) {
  std::string path = samples_of(recording.path());
  if (!first_epoch_not_done || access(path.c_str(), F_OK) != 0) return;
  auto samples = Recording::open(path);
  if (!is_companion(samples->header(), recording.header())) return;
  int fd = open_regular(path, O_RDWR);
  void* map = map_shared(fd, 0, sizeof(FileHeader), PROT_READ | PROT_WRITE, nullptr);
  for (u32 chunk : samples->data_chunks(0, u32(first_epoch_not_done - 1))) {
    if (map == MAP_FAILED || !punch(fd, chunk)) break;
    static_cast<FileHeader*>(map)->live_chunks.fetch_sub(1);
  }
  if (map != MAP_FAILED) unmap_shared(map, sizeof(FileHeader));
  close(fd);
}

// In flight mode the program gives its chunks back itself, as it uses them again.
void leave_to_program(const Recording& recording, u64 first_epoch_not_done) {
  int fd = open_regular(recording.path(), O_RDWR);
  void* map = map_shared(fd, 0, sizeof(FileHeader), PROT_READ | PROT_WRITE, nullptr);
  close(fd);
  if (map == MAP_FAILED) return;
  static_cast<FileHeader*>(map)->given_back.store(first_epoch_not_done, std::memory_order_release);
  unmap_shared(map, sizeof(FileHeader));
}

}  // namespace

void punch_samples(const std::string& recording_path, u32 epoch) {
  punch_samples(*Recording::open(recording_path), epoch);
}

u32 punch_written(const std::string& recording_path, const std::set<u32>& written) {
  auto recording = Recording::open(recording_path);
  Meta meta = recording->read_meta();
  if (meta.is_flight()) return leave_to_program(*recording, first_epoch_not_done(meta, written)), 0;
  i64 done = last_done_epoch(meta, written);
  if (done < 0) return 0;
  const FileHeader& h = recording->header();
  bool alive = recording->writer_alive() && !h.closed.load();

  // In order of chunks. A chunk without any record is kept, since a thread may just have taken it.
  std::map<u32, ChunkUse> chunks;
  ClockMap clock = clock_of(*recording, meta);
  recording->for_each_data(0, u32(done), [&](const RecordView& view) {
    ChunkUse& use = chunks[u32(view.ref >> 32)];
    use.epoch = view.epoch;
    u64 ticks = view.kind() == Kind::range_end ? view.as<RangeEndRecord>().end_ticks : stamp_of(view, clock);
    // Ranges that are open are patched in place in chunks of the current epoch only; those are kept below.
    if (ticks && is_wanted(ticks, meta, written)) use.needed = true;
  });
  int fd = open_regular(recording_path, O_RDWR);
  void* map = map_shared(fd, 0, sizeof(FileHeader), PROT_READ | PROT_WRITE, nullptr);
  u32 punched = 0;
  if (map != MAP_FAILED) {
    auto* header = static_cast<FileHeader*>(map);
    u32 current = header->epoch.load();
    header->given_back.store(first_epoch_not_done(meta, written));
    for (const auto& [index, use] : chunks) {
      if (use.needed || (alive && use.epoch == current)) continue;
      if (!punch(fd, index)) break;
      header->live_chunks.fetch_sub(1);
      punched++;
    }
    unmap_shared(map, sizeof(FileHeader));
  }
  close(fd);
  punch_samples(*recording, first_epoch_not_done(meta, written));
  return punched;
}

}  // namespace tprof
