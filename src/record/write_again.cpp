// Writer, continued: chunks that are used again, which only flight mode does. Everywhere else the finisher punches out
// what it has converted, and chunks are used once.
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "record/mapping.h"
#include "record/writer.h"

namespace tprof {

void Writer::note_epoch(u32 chunk, u32 epoch_or_kind) {
  if (chunk < kMaxTracked) chunk_epochs_[chunk].store(epoch_or_kind, std::memory_order_relaxed);
}

u32 Writer::chunks_from(u32 epoch) const {
  u32 count = 0, end = std::min(header_->chunks.load(std::memory_order_relaxed), kMaxTracked);
  for (u32 i = 0; i < end; i++) {
    u32 is = chunk_epochs_[i].load(std::memory_order_relaxed);
    count += is != kNoData && !(is & kSteps) && is - 1 >= epoch;
  }
  return count;
}

void Writer::give_back(const EpochRange* kept, u32 count) {
  if (!header_ || stopped()) return;
  struct stat s;
  int fd = -1;
  u32 end = std::min(header_->chunks.load(std::memory_order_relaxed), kMaxTracked);
  for (u32 i = 0; i < end; i++) {
    u32 is = chunk_epochs_[i].load(std::memory_order_relaxed);
    // Steps may be far older than the moment from which on their chunk was full.
    auto holds = [is](const EpochRange& range) {
      return is & kSteps ? (is & ~kSteps) - 1 >= range.first : is - 1 >= range.first && is - 1 <= range.last;
    };
    if (is == kNoData || is == kFree || std::any_of(kept, kept + count, holds)) continue;
    if (fd < 0 && (fd = open_again(s)) < 0) return;
    if (!chunk_epochs_[i].compare_exchange_strong(is, kNoData)) continue;  // another thread gives it back
    if (!clear_chunk(fd, i)) {
      chunk_epochs_[i].store(is, std::memory_order_relaxed);
      break;
    }
    header_->live_chunks.fetch_sub(1, std::memory_order_relaxed);
    note_free(i);
  }
  if (fd >= 0) ::close(fd);
}

// Where the file system cannot punch, the chunk keeps its space, and has it again when it is used again.
bool Writer::clear_chunk(int fd, u32 index) {
  off_t at = kHeaderBytes + off_t(index) * kChunkBytes;
  if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, kChunkBytes) == 0) return true;
  void* map = map_shared(fd, at, kChunkBytes, PROT_READ | PROT_WRITE, &cut_);
  if (map == MAP_FAILED) return false;
  memset(map, 0, kChunkBytes);
  unmap_shared(map, kChunkBytes);
  return true;
}

void Writer::note_free(u32 index) {
  chunk_epochs_[index].store(kFree, std::memory_order_relaxed);
  free_.fetch_add(1, std::memory_order_release);
}

u32 Writer::take_free() {
  if (free_.load(std::memory_order_acquire) == 0) return kNone;
  u32 end = std::min(header_->chunks.load(std::memory_order_relaxed), kMaxTracked);
  for (u32 i = 0; i < end; i++) {
    u32 is = kFree;
    if (!chunk_epochs_[i].compare_exchange_strong(is, kNoData)) continue;
    free_.fetch_sub(1, std::memory_order_relaxed);
    return i;
  }
  return kNone;
}

}  // namespace tprof
