#include "sample/samples_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "record/companion.h"

namespace tprof {
namespace {

constexpr size_t kMaxTreeFrames = 1 << 20;

}  // namespace

SamplesFile::SamplesFile(const std::string& recording, const FileHeader& header, u64 max_bytes)
    : path_(samples_of(recording)) {
  char* real = realpath(recording.c_str(), nullptr);  // the writer opens it again by this path
  if (real) path_ = samples_of(real);
  free(real);
  RecordingSpec spec{path_.c_str(),     header.host,       header.pid,
                     header.parent_pid, header.created_ns, header.base_time_ns,
                     max_bytes,         Role::program,     false};
  if (!writer_.create(spec)) throw Error(Fault::unreadable, path_ + ": cannot be created: " + strerror(errno));
}

SamplesFile::~SamplesFile() { close(); }

void SamplesFile::close() {
  if (!writer_.is_open()) return;
  writer_.close(kClosed);
  std::string recording = path_.substr(0, path_.size() - strlen(kSamplesSuffix));
  if (access(recording.c_str(), F_OK) != 0 && writer_.in_place()) unlink(path_.c_str());
  writer_.forget();
}

char* SamplesFile::space(u32 epoch, size_t bytes) {
  if (!chunk_ || epoch != epoch_ || used_ + bytes > kChunkBytes) {
    if (chunk_) writer_.retire_chunk(chunk_);
    chunk_ = writer_.take_chunk(Stream::data, epoch, 0);
    used_ = sizeof(ChunkHeader);
    epoch_ = epoch;
    writer_.unmap_retired();
  }
  if (!chunk_) return nullptr;
  char* at = reinterpret_cast<char*>(chunk_) + used_;
  used_ += bytes;
  return at;
}

void SamplesFile::publish(char* at, Kind kind, u32 id, size_t bytes) {
  RecordHead head{u16(kind), u16(bytes / 8), id};
  u64 word;
  memcpy(&word, &head, sizeof word);
  std::atomic_ref<u64>(*reinterpret_cast<u64*>(at)).store(word, std::memory_order_release);
}

void SamplesFile::add_sample(u32 epoch, u32 tid, u64 ns, StackRef stack, u32 flags, u32 stopped_ns) {
  char* at = space(epoch, sizeof(SampleRecord));
  if (!at) return;
  auto* r = reinterpret_cast<SampleRecord*>(at);
  r->ns = ns;
  r->stack = stack;
  r->flags = flags;
  r->stopped_ns = stopped_ns;
  publish(at, Kind::sample, tid, sizeof *r);
}

void SamplesFile::add_round(u32 epoch, u64 ns, u32 samples, u32 missed, u32 unread) {
  char* at = space(epoch, sizeof(SampleRoundRecord));
  if (!at) return;
  auto* r = reinterpret_cast<SampleRoundRecord*>(at);
  r->ns = ns;
  r->missed = missed;
  r->unread = unread;
  publish(at, Kind::sample_round, samples, sizeof *r);
}

void SamplesFile::add_thread(u32 tid, const std::string& comm) {
  if (threads_.insert(tid).second) writer_.add_thread(tid, 0, comm.c_str());
}

void SamplesFile::add_image(u32 maps, ImageRecord image, const std::string& path) {
  image.path = name(path);
  writer_.add_image(maps, image);
}

u32 SamplesFile::name(const std::string& text) {
  auto [known, added] = names_.try_emplace(text, 0);
  if (added)
    if (const NameRecord* record = writer_.add_name(text.data(), text.size())) known->second = record->head.id;
  return known->second;
}

u32 SamplesFile::code(u32 number, const remote::PythonCodes& codes) {
  auto [known, added] = codes_.try_emplace(number, 0);
  if (!added) return known->second;
  const remote::PythonCode& code = codes.code(number);
  CodeRecord record{};
  record.name = name(code.name);
  record.file = name(code.file);
  record.first_line = code.lines.first_line;
  record.python = code.lines.python;
  record.table_bytes = u32(code.lines.table.size());
  bool written = writer_.add_code(next_code_, record, code.lines.table.data());
  return known->second = written ? next_code_++ : 0;
}

u32 SamplesFile::frame(const Frame& frame) {
  auto known = frames_.find(frame);
  if (known != frames_.end()) return known->second;
  auto id = u32(frames_.size()) + 1;
  if (id > kMaxTreeFrames || !writer_.add_stack(id, frame.parent, frame.code, frame.at)) return kStackLost;
  frames_.emplace(frame, id);
  return id;
}

u32 SamplesFile::stack_of(const remote::ThreadSnapshot& thread, const remote::PythonCodes& codes) {
  u32 id = thread.cut ? frame({0, kStackCut, 0}) : 0;
  for (size_t i = thread.frames.size(); i-- > 0 && id != kStackLost;) {
    const remote::PythonFrame& f = thread.frames[i];
    u32 c = code(u32(f.code), codes);
    id = c ? frame({id, c, u64(f.offset) | (f.entered ? kStackEntered : 0)}) : kStackLost;
  }
  return id;
}

u32 SamplesFile::stack_of(const std::vector<u64>& addresses, bool cut, u32 maps) {
  u32 id = cut ? frame({0, kStackCut, 0}) : 0;
  for (size_t i = addresses.size(); i-- > 0 && id != kStackLost;)
    id = frame({id, 0, addresses[i] | u64(maps) << kMapShift});
  return id;
}

void SamplesFile::forget_codes() { codes_.clear(); }

}  // namespace tprof
