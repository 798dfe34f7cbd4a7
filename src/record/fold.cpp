#include "record/fold.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

namespace tprof {
namespace {

bool write_at(int fd, const void* data, size_t bytes, u64 at) {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    ssize_t n = pwrite(fd, from, bytes, off_t(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    from += n;
    at += u64(n);
    bytes -= size_t(n);
  }
  return true;
}

// Writes everything but the header. Returns the end; 0 as append_recording().
u64 write_chunks(Recording& recording, int fd, u64 at, u64 limit) {
  std::string chunk;
  for (u32 i = 0, count = recording.chunk_count(); i < count; i++) {
    chunk = recording.used_part(i);
    if (chunk.size() <= sizeof(ChunkHeader)) continue;
    u64 bytes = chunk.size();
    memcpy(chunk.data() + offsetof(ChunkHeader, folded_bytes), &bytes, sizeof bytes);
    if (at + bytes > limit) return errno = EFBIG, 0;
    if (!write_at(fd, chunk.data(), bytes, at)) return 0;
    at += bytes;
  }
  return at;
}

// The magic comes last: eight bytes in one page, a write that no signal splits.
bool write_header(const FileHeader& from, int fd, u64 begin, u64 end) {
  static_assert(offsetof(FileHeader, magic) == 0 && sizeof FileHeader::magic == 8);
  FileHeader header;
  memcpy(static_cast<void*>(&header), static_cast<const void*>(&from), sizeof header);
  header.version_minor = kVersionMinor;
  header.header_bytes = kFoldedHeaderBytes;
  header.folded_bytes = end - begin;
  header.closed = 1;
  constexpr size_t kMagic = sizeof header.magic;
  const char* bytes = reinterpret_cast<const char*>(&header);
  return write_at(fd, bytes + kMagic, sizeof header - kMagic, begin + kMagic) && write_at(fd, bytes, kMagic, begin);
}

}  // namespace

u64 append_recording(Recording& recording, int fd, u64 end, u64 limit) {
  // Removes what an interrupted call left there.
  if (ftruncate(fd, off_t(end)) != 0) return 0;
  u64 new_end = write_chunks(recording, fd, end + kFoldedHeaderBytes, limit);
  if (new_end && write_header(recording.header(), fd, end, new_end)) return new_end;
  int why = errno;
  if (ftruncate(fd, off_t(end)) != 0) return 0;
  errno = why;
  return 0;
}

void count_over_budget(int fd, u64 begin, u64 events) {
  u64 at = begin + offsetof(FileHeader, dropped) + u32(Drop::over_budget) * sizeof(u64), before = 0;
  if (pread(fd, &before, sizeof before, off_t(at)) != ssize_t(sizeof before)) return;
  events += before;
  write_at(fd, &events, sizeof events, at);
}

}  // namespace tprof
