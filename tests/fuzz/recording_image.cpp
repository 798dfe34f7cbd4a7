#include "recording_image.h"

#include <string.h>

#include <algorithm>
#include <random>

extern "C" size_t LLVMFuzzerMutate(tprof::u8* data, size_t size, size_t max_size);

namespace tprof::fuzz {
namespace {

class Mutation {
 public:
  Mutation(RecordingImage& image, unsigned seed) : image_(image), random_(seed), records_(image.records()) {}

  void run() {
    if (records_.empty()) return change_bytes(image_.header, 0, sizeof(FileHeader));
    RecordingImage::Record record = records_[below(records_.size())];
    std::string& chunk = image_.chunks[record.chunk];
    switch (below(10)) {
      case 0: return change_bytes(image_.header, 0, sizeof(FileHeader));
      case 1: return change_bytes(chunk, 0, sizeof(ChunkHeader));
      case 2: chunk.erase(record.begin, record.bytes); return;
      case 3: return insert(chunk, record.begin);
      case 4: return change_bytes(chunk, record.begin, sizeof(RecordHead));
      case 5: return copy_word(chunk, record);
      case 6: return move_chunk();
      default: return change_bytes(chunk, record.begin + sizeof(RecordHead), record.bytes - sizeof(RecordHead));
    }
  }

 private:
  size_t below(size_t n) { return n ? std::uniform_int_distribution<size_t>(0, n - 1)(random_) : 0; }

  // A whole field, a bit, or a little more or less.
  void change_bytes(std::string& in, size_t begin, size_t bytes) {
    static const u64 kHard[] = {0,
                                1,
                                2,
                                0x7f,
                                0xff,
                                0x7fff,
                                0xffff,
                                0x7fffffff,
                                0x80000000,
                                0xffffffff,
                                u64(1) << 32,
                                u64(1) << 53,
                                u64(1) << 62,
                                ~u64(0) >> 1,
                                u64(1) << 63,
                                ~u64(0)};
    static const size_t kWidths[] = {1, 2, 4, 8};
    size_t width = kWidths[below(4)];
    if (bytes < width || begin + bytes > in.size()) return;
    size_t at = begin + below(bytes / width) * width;
    u64 value = 0;
    memcpy(&value, in.data() + at, width);
    switch (below(4)) {
      case 0: value = kHard[below(std::size(kHard))]; break;
      case 1: value ^= u64(1) << below(8 * width); break;
      case 2: value += below(33) - 16; break;
      default: value = random_() | u64(random_()) << 32; break;
    }
    memcpy(in.data() + at, &value, width);
  }

  // Another record, or the same again.
  void insert(std::string& chunk, size_t at) {
    const RecordingImage::Record& other = records_[below(records_.size())];
    chunk.insert(at, std::string(image_.chunks[other.chunk], other.begin, other.bytes));
  }

  // A word of another record: an id or a moment that exists.
  void copy_word(std::string& chunk, const RecordingImage::Record& record) {
    const RecordingImage::Record& other = records_[below(records_.size())];
    u64 word;
    memcpy(&word, image_.chunks[other.chunk].data() + other.begin + 8 * below(other.bytes / 8), sizeof word);
    memcpy(chunk.data() + record.begin + 8 * below(record.bytes / 8), &word, sizeof word);
  }

  void move_chunk() {
    size_t a = below(image_.chunks.size()), b = below(image_.chunks.size());
    if (below(2))
      std::swap(image_.chunks[a], image_.chunks[b]);
    else
      image_.chunks.insert(image_.chunks.begin() + i64(a), std::string(image_.chunks[b]));
  }

  RecordingImage& image_;
  std::mt19937 random_;
  std::vector<RecordingImage::Record> records_;
};

size_t given(const std::string& bytes, u8* data, size_t max_size) {
  if (bytes.size() > max_size) return 0;
  memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

}  // namespace

bool RecordingImage::parse(const u8* data, size_t size) {
  if (size < kFoldedHeaderBytes || memcmp(data, kRecordingMagic, sizeof kRecordingMagic) != 0) return false;
  header.assign(reinterpret_cast<const char*>(data), kFoldedHeaderBytes);
  for (size_t at = kFoldedHeaderBytes; at + sizeof(ChunkHeader) <= size;) {
    u64 bytes;
    memcpy(&bytes, data + at + offsetof(ChunkHeader, folded_bytes), sizeof bytes);
    bytes = std::min(std::max<u64>(bytes, sizeof(ChunkHeader)), size - at);
    chunks.emplace_back(reinterpret_cast<const char*>(data) + at, bytes);
    at += bytes;
  }
  return true;
}

std::string RecordingImage::bytes() const {
  std::string out = header;
  for (const std::string& chunk : chunks) {
    size_t begin = out.size();
    u64 bytes = chunk.size();
    out += chunk;
    memcpy(out.data() + begin + offsetof(ChunkHeader, folded_bytes), &bytes, sizeof bytes);
  }
  u64 bytes = out.size();
  u32 count = u32(chunks.size());
  memcpy(out.data() + offsetof(FileHeader, folded_bytes), &bytes, sizeof bytes);
  memcpy(out.data() + offsetof(FileHeader, chunks), &count, sizeof count);
  return out;
}

std::vector<RecordingImage::Record> RecordingImage::records() const {
  std::vector<Record> out;
  for (size_t i = 0; i < chunks.size(); i++)
    for (size_t at = sizeof(ChunkHeader); at + sizeof(RecordHead) <= chunks[i].size();) {
      RecordHead head;
      memcpy(static_cast<void*>(&head), chunks[i].data() + at, sizeof head);
      size_t bytes = std::min<size_t>(std::max<size_t>(head.words, 1) * 8, chunks[i].size() - at);
      out.push_back({i, at, bytes / 8 * 8});
      at += bytes;
    }
  return out;
}

size_t mutate_recording(u8* data, size_t size, size_t max_size, unsigned seed, const std::string& first) {
  RecordingImage image;
  if (!image.parse(data, size)) {
    size_t bytes = given(first, data, max_size);
    return bytes ? bytes : LLVMFuzzerMutate(data, size, max_size);
  }
  if (seed % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  for (unsigned i = 0; i <= seed / 16 % 5; i++) Mutation(image, seed + i).run();
  size_t bytes = given(image.bytes(), data, max_size);
  return bytes ? bytes : LLVMFuzzerMutate(data, size, max_size);
}

}  // namespace tprof::fuzz
