#include "record/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/process.h"
#include "record/give_up.h"
#include "record/regular_file.h"

namespace tprof {
namespace {

// The smallest size of a record of this kind; 0 for unknown kinds.
size_t smallest_size(u16 kind) {
  if (kind == u16(Kind::step)) return kOldStepBytes;
  switch (static_cast<Kind>(kind)) {
#define KIND(number, name, type, stream, what) \
  case Kind::name:                             \
    return sizeof(type);
#include "record/kinds.def"
#undef KIND
  }
  return 0;
}

// True if the record holds everything that it announces, down to the last input.
bool valid_range(const RecordView& view) {
  u8 flags = view.as<RangeRecord>().flags;
  size_t least = sizeof(RangeRecord) + (flags & kRangeLinked ? sizeof(RangeLink) : 0) +
                 (flags & kRangeStack ? sizeof(StackRef) : 0);
  if (view.bytes() < least) return false;
  RangeView range = range_of(view);
  const char* at = range.inputs_at;
  const char* end = at + range.inputs_bytes;
  // In the stream the elements of a tensor list are inputs of their own, which range.inputs does not count.
  u64 open = range.inputs;
  while (open > 0) {
    if (end - at < ssize_t(sizeof(InputHead))) return false;
    const auto& input = *reinterpret_cast<const InputHead*>(at);
    u64 payload = 0;
    switch (static_cast<InputTag>(input.tag)) {
      case InputTag::tensor: {
        if (input.count > 64) return false;
        u64 numbers = u64(input.count) * (input.flags & kInputNoStrides ? 1 : 2);
        payload = numbers * (input.flags & kInputWide ? 8 : 4);
        break;
      }
      case InputTag::tensor_list: open += input.count; break;
      case InputTag::integer:
      case InputTag::floating:
      case InputTag::object: payload = 8; break;
      case InputTag::complex: payload = 16; break;
      case InputTag::string:
      case InputTag::boolean_list: payload = input.count; break;
      case InputTag::integer_list:
      case InputTag::floating_list: payload = u64(input.count) * 8; break;
      case InputTag::none:
      case InputTag::undefined:
      case InputTag::boolean:
      case InputTag::other_list:
      case InputTag::other: break;
      default: return false;
    }
    payload = (payload + 7) & ~u64(7);
    if (u64(end - at) < sizeof(InputHead) + payload) return false;
    at += sizeof(InputHead) + payload;
    open--;
  }
  return true;
}

}  // namespace

std::unique_ptr<Recording> Recording::open(const std::string& path, u64 begin) {
  std::unique_ptr<Recording> r(new Recording);
  r->path_ = path;
  r->begin_ = begin;
  r->fd_ = open_regular(path, O_RDONLY);
  r->header_ = std::make_unique<FileHeader>();
  r->refresh();
  r->buffer_.reset(new char[kChunkBytes]);
  r->is_folded_ = r->header_->header_bytes == kFoldedHeaderBytes;
  if (r->is_folded_) r->find_folded_chunks();
  return r;
}

void Recording::check_header(const FileHeader& h) const {
  if (h.magic[0] == 0)
    throw Error(Fault::unreadable, path_ + ": its header is empty; it was truncated or overwritten, or never written");
  if (memcmp(h.magic, kRecordingMagic, sizeof h.magic) != 0)
    throw Error(Fault::unreadable,
                path_ + ": not a tprof recording (bad magic); give a .tprof file or a log directory");
  if (h.version_major != kVersionMajor || h.version_minor < kOldestMinor)
    throw Error(Fault::unreadable, path_ + ": its format is version " + std::to_string(h.version_major) + '.' +
                                       std::to_string(h.version_minor) + ", which this tprof does not read (it reads " +
                                       std::to_string(kVersionMajor) + '.' + std::to_string(kOldestMinor) +
                                       " and later minor versions); " + "use the tprof that wrote it");
  bool known = h.header_bytes == kHeaderBytes || h.header_bytes == kFoldedHeaderBytes;
  if (!known || h.chunk_bytes != kChunkBytes)
    throw Error(Fault::unreadable, path_ + ": damaged header (impossible sizes); the recording cannot be read");
}

Recording::~Recording() {
  if (fd_ >= 0) close(fd_);
}

void Recording::refresh() {
  FileHeader fresh;
  if (pread(fd_, static_cast<void*>(&fresh), sizeof fresh, off_t(begin_)) != ssize_t(sizeof fresh))
    throw Error(Fault::unreadable, path_ + ": too short for a tprof recording; it was cut off or never written");
  fresh.host[sizeof fresh.host - 1] = 0;
  fresh.boot_id[sizeof fresh.boot_id - 1] = 0;
  check_header(fresh);
  memcpy(static_cast<void*>(header_.get()), static_cast<void*>(&fresh), sizeof fresh);
}

bool Recording::writer_alive() const {
  ProcessIdentity me = process_identity(static_cast<int>(header_->pid));
  return me.start_time != 0 && me.start_time == header_->process_start && !strcmp(me.boot_id, header_->boot_id);
}

bool Recording::is_cut() const {
  struct stat s;
  u64 whole = is_folded_ ? begin_ + header_->folded_bytes : kHeaderBytes + u64(header_->chunks.load()) * kChunkBytes;
  return fstat(fd_, &s) != 0 || u64(s.st_size) < whole;
}

void Recording::find_folded_chunks() {
  u64 at = kFoldedHeaderBytes, end = header_->folded_bytes;
  while (at + sizeof(ChunkHeader) <= end) {
    ChunkHeader chunk;
    if (pread(fd_, &chunk, sizeof chunk, off_t(begin_ + at)) != ssize_t(sizeof chunk)) {
      damage_.missing_chunks++;
      return;
    }
    u64 bytes = chunk.folded_bytes;
    if (bytes < sizeof chunk || bytes > kChunkBytes || bytes > end - at) {
      damage_.bad_chunks++;
      return;
    }
    folded_.push_back({begin_ + at, bytes});
    at += bytes;
  }
}

Recording::Extent Recording::extent_of(u32 index) const {
  return is_folded_ ? folded_[index] : Extent{kHeaderBytes + u64(index) * kChunkBytes, kChunkBytes};
}

u32 Recording::chunk_count() {
  if (is_folded_) return u32(folded_.size());
  struct stat s;
  if (fstat(fd_, &s) != 0 || s.st_size < kHeaderBytes) return 0;
  u64 fitting = (u64(s.st_size) - kHeaderBytes + kChunkBytes - 1) / kChunkBytes;
  return u32(std::min<u64>(header_->chunks.load(), fitting));
}

bool Recording::read_chunk_header(u32 index, ChunkHeader& out) {
  ssize_t n = pread(fd_, &out, sizeof out, off_t(extent_of(index).offset));
  if (n != ssize_t(sizeof out)) {
    damage_.missing_chunks++;
    return false;
  }
  if (out.magic == 0) return false;  // punched out, or taken and not yet used
  bool here = is_folded_ || out.index == index;
  if (out.magic != kChunkMagic || !here || !is_stream(out.stream)) {
    damage_.bad_chunks++;
    return false;
  }
  return true;
}

bool Recording::visit_records(ChunkPlace& place, size_t from, size_t end, size_t limit,
                              const std::function<void(const RecordView&)>& visit) {
  while (place.at + sizeof(RecordHead) <= end) {
    const auto* head = reinterpret_cast<const RecordHead*>(buffer_.get() + place.at - from);
    if (head->kind == 0) return false;
    size_t bytes = size_t(head->words) * 8, least = smallest_size(head->kind);
    if (bytes < sizeof(RecordHead) || bytes < least || place.at + bytes > limit) {
      damage_.bad_records++;
      place.at = u32(limit);
      return false;
    }
    if (place.at + bytes > end) return true;
    if (head->kind == u16(Kind::heir))
      place.tid = head->id;
    else if (least)
      visit({head, RecordRef(place.index) << 32 | place.at, place.tid, place.epoch});
    else
      damage_.unknown_kinds++;
    place.at += u32(bytes);
  }
  return end < limit;
}

size_t Recording::for_each_record(u32 index, const std::function<void(const RecordView&)>& visit) {
  may_give_up();
  Extent extent = extent_of(index);
  ssize_t n = pread(fd_, buffer_.get(), extent.bytes, off_t(extent.offset));
  if (n < ssize_t(sizeof(ChunkHeader))) return 0;
  const auto& chunk = *reinterpret_cast<const ChunkHeader*>(buffer_.get());
  ChunkPlace place = place_in(chunk.index, chunk);
  size_t end = size_t(n) & ~size_t(7);
  visit_records(place, 0, end, end, visit);
  return place.at;
}

std::string_view Recording::used_part(u32 index) {
  ChunkHeader chunk;
  if (!read_chunk_header(index, chunk)) return {};
  size_t bytes = for_each_record(index, [](const RecordView&) {});
  return {buffer_.get(), bytes};
}

std::vector<u32> Recording::data_chunks(u32 first_epoch, u32 last_epoch) {
  std::vector<std::pair<u64, u32>> used;
  u32 count = chunk_count();
  if (!is_folded_) damage_.missing_chunks += header_->chunks.load() - count;
  for (u32 i = 0; i < count; i++) {
    ChunkHeader chunk;
    if (read_chunk_header(i, chunk) && chunk.stream == u32(Stream::data) && chunk.epoch >= first_epoch &&
        chunk.epoch <= last_epoch)
      used.push_back({chunk.first_ticks, i});
  }
  std::sort(used.begin(), used.end());
  std::vector<u32> out;
  for (const auto& [ticks, index] : used) out.push_back(index);
  return out;
}

// A chunk that is prepared for later use has its index already; one that was punched out is all zeros.
Recording::UsedChunks Recording::used_chunks() {
  UsedChunks out;
  u32 count = chunk_count();
  for (u32 i = 0; i < count; i++) {
    ChunkHeader chunk{};
    if (read_chunk_header(i, chunk))
      out.headers.push_back(chunk);
    else
      out.punched_out += chunk.magic == 0 && chunk.index != i;
  }
  return out;
}

void Recording::for_each_data(u32 first_epoch, u32 last_epoch, const std::function<void(const RecordView&)>& visit) {
  for_each_data_in(data_chunks(first_epoch, last_epoch), visit);
}

void Recording::for_each_data_in(const std::vector<u32>& chunks, const std::function<void(const RecordView&)>& visit) {
  for (u32 i : chunks)
    for_each_record(i, [&](const RecordView& view) {
      if (is_range(view) && !valid_range(view)) {
        damage_.bad_records++;
        return;
      }
      visit(view);
    });
}

u64 event_ticks(const RecordView& view) {
  switch (view.kind()) {
    case Kind::range: return view.as<RangeRecord>().begin_ticks;
    case Kind::memory: return view.as<MemoryRecord>().ticks;
    case Kind::call: return view.as<CallRecord>().begin_ticks;
    case Kind::nvtx: return view.as<NvtxRecord>().begin_ticks;
    case Kind::python_call: return view.as<PythonCallRecord>().begin_ticks;
    case Kind::nccl_op: return view.as<NcclOpRecord>().ticks;
    case Kind::nccl_wire: return view.as<NcclWireRecord>().end_ticks;
    case Kind::loader: return view.as<LoaderRecord>().end_ticks;
    default: return 0;
  }
}

RangeView range_of(const RecordView& view) {
  const auto& r = view.as<RangeRecord>();
  RangeView v{r.begin_ticks, r.end_ticks, r.sequence, 0, r.scope, r.flags, r.inputs, nullptr, 0, {}};
  const char* at = reinterpret_cast<const char*>(&r + 1);
  if (r.flags & kRangeLinked) {
    const auto& link = *reinterpret_cast<const RangeLink*>(at);
    v.sequence = link.sequence;
    v.forward_thread = link.forward_thread;
    at += sizeof link;
  }
  if (r.flags & kRangeStack) {
    v.stack = *reinterpret_cast<const StackRef*>(at);
    at += sizeof(StackRef);
  }
  v.inputs_at = at;
  v.inputs_bytes = u32(reinterpret_cast<const char*>(view.record) + view.bytes() - at);
  return v;
}

StackRef stack_of(const MemoryRecord& r) {
  bool follows = u8(r.head.id >> 16) & kMemoryStack;
  bool fits = size_t(r.head.words) * 8 >= sizeof r + sizeof(StackRef);
  return follows && fits ? *reinterpret_cast<const StackRef*>(&r + 1) : StackRef{};
}

std::vector<u64> recordings_in(const std::string& path) {
  std::vector<u64> out = {0};
  int fd = open_regular(path, O_RDONLY);
  FileHeader h;
  for (u64 at = 0;;) {
    bool whole = pread(fd, static_cast<void*>(&h), sizeof h, off_t(at)) == ssize_t(sizeof h) &&
                 !memcmp(h.magic, kRecordingMagic, sizeof h.magic) && h.header_bytes == kFoldedHeaderBytes;
    if (whole && at) out.push_back(at);
    if (!whole || h.folded_bytes < kFoldedHeaderBytes || h.folded_bytes > u64(INT64_MAX) - at) break;
    at += h.folded_bytes;
  }
  close(fd);
  return out;
}

bool is_unbegun(const std::string& path) {
  int fd = open_regular(path, O_RDONLY);
  std::vector<char> header(kHeaderBytes + 1);
  bool just_header = pread(fd, header.data(), header.size(), 0) == ssize_t(kHeaderBytes);
  close(fd);
  return just_header && std::all_of(header.begin(), header.end(), [](char c) { return c == 0; });
}

}  // namespace tprof
