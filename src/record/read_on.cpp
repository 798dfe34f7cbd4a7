// Reading a recording that is being written: only what was added.
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "record/reader.h"

namespace tprof {
namespace {

constexpr size_t kPiece = 64 << 10;  // a look a second finds less in most chunks

}  // namespace

bool Recording::chunk_header(u32 index, ChunkHeader& out) const {
  u64 offset = kHeaderBytes + u64(index) * kChunkBytes;
  return pread(fd_, &out, sizeof out, off_t(offset)) == ssize_t(sizeof out) && out.magic == kChunkMagic &&
         out.index == index && is_stream(out.stream);
}

ChunkPlace Recording::place_in(u32 index, const ChunkHeader& header) {
  return {index, header.epoch, header.tid, sizeof(ChunkHeader)};
}

void Recording::read_on(ChunkPlace& place, const std::function<void(const RecordView&)>& visit) {
  u64 offset = kHeaderBytes + u64(place.index) * kChunkBytes;
  size_t piece = kPiece;
  for (bool more = true; more && place.at < kChunkBytes;) {
    u32 from = place.at;
    ssize_t n = pread(fd_, buffer_.get(), std::min<size_t>(piece, kChunkBytes - from), off_t(offset + from));
    if (n < ssize_t(sizeof(RecordHead))) return;  // the file was cut
    reads_++;
    size_t end = from + (size_t(n) & ~size_t(7));
    more = visit_records(place, from, end, kChunkBytes, visit);
    if (place.at != from) continue;
    if (size_t(n) < piece) return;
    piece = kChunkBytes;  // a record that is larger than a piece
  }
}

bool Recording::read_again(RecordRef ref, size_t offset, void* to, size_t bytes) const {
  size_t at = u32(ref) + offset;
  if (at + bytes > kChunkBytes) return false;
  u64 chunk = kHeaderBytes + (ref >> 32) * kChunkBytes;
  return pread(fd_, to, bytes, off_t(chunk + at)) == ssize_t(bytes);
}

bool Recording::is_gone() const {
  struct stat s, named;
  if (fstat(fd_, &s) != 0 || s.st_nlink == 0 || stat(path_.c_str(), &named) != 0) return true;
  return named.st_dev != s.st_dev || named.st_ino != s.st_ino;
}

}  // namespace tprof
