// A recording that grows, and the samples beside it, damaged in any way: followed as `tprof top` does, whose lines fit
// the screen and whose JSON can be read, and looked at as `tprof hang` does, which comes to a verdict.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/hang/verdict.h"
#include "base/display_width.h"
#include "base/error.h"
#include "base/printable.h"
#include "live/program.h"
#include "record/companion.h"
#include "recording_image.h"
#include "scratch.h"
#include "top/json.h"
#include "top/page.h"

using namespace tprof;

namespace {

constexpr size_t kMostChunks = 64;

// The file as a program leaves it on its way, or `closed` at its end: the start of each chunk, of so many halves, each
// at its place.
void write_unfolded(const std::string& path, const fuzz::RecordingImage& image, size_t halves, bool closed) {
  std::string header = image.header;
  u32 is_closed = closed;
  memcpy(header.data() + offsetof(FileHeader, closed), &is_closed, sizeof is_closed);
  u32 header_bytes = kHeaderBytes, count = u32(std::min(image.chunks.size(), kMostChunks));
  memcpy(header.data() + offsetof(FileHeader, header_bytes), &header_bytes, sizeof header_bytes);
  memcpy(header.data() + offsetof(FileHeader, chunks), &count, sizeof count);
  int fd = open(path.c_str(), O_RDWR | O_CREAT, 0600);
  bool good = pwrite(fd, header.data(), header.size(), 0) == ssize_t(header.size()) &&
              ftruncate(fd, kHeaderBytes + off_t(count) * kChunkBytes) == 0;
  for (u32 i = 0; i < count; i++) {
    std::string chunk = image.chunks[i];
    if (chunk.size() >= sizeof(ChunkHeader)) memcpy(chunk.data() + offsetof(ChunkHeader, index), &i, sizeof i);
    size_t bytes = std::min<size_t>(chunk.size() * halves / 2, kChunkBytes) / 8 * 8;
    good &= pwrite(fd, chunk.data(), bytes, kHeaderBytes + off_t(i) * kChunkBytes) == ssize_t(bytes);
  }
  fuzz::require(good, "the recording is written");
  close(fd);
}

void show(live::Program& program) {
  std::vector<live::ProgramView> views = {program.view(20, 20)};
  views[0].workers = {program.worker()};
  for (auto [columns, rows] : {std::pair<size_t, size_t>(80, 24), {30, 8}, {200, 0}}) {
    PageStyle style;
    style.columns = columns;
    style.rows = rows;
    for (const PageLine& line : page_of(views, style)) {
      fuzz::require(display_width(line.text) <= columns, "a line fits the screen: " + line.text);
      fuzz::require(printable(line.text) == line.text, "a line leaves the terminal alone");
    }
  }
  std::string text = json_indented(top_json(views, ""));
  fuzz::require(nlohmann::json::accept(text), "the JSON can be read");
}

// Two ranks of a job: one did what the recording holds, the other one less.
void judge(const std::string& path) {
  auto recording = Recording::open(path);
  hang::Rank one;
  one.number = 0;
  one.recorded = true;
  one.now = one.before = recent_of(*recording, recording->read_meta());
  hang::Rank other = one;
  other.number = 1;
  for (RecentGroup& group : other.now.groups)
    if (!group.calls.empty()) group.calls.pop_back();
  hang::Job job;
  job.world_size = 2;
  job.ranks = {one, other};
  fuzz::require(!hang::verdict(job).sentence.empty(), "there is a verdict");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  static const fuzz::Scratch scratch;
  static const std::string path = scratch.path("host_1.1.tprof");
  fuzz::RecordingImage image;
  if (!image.parse(data, size)) return 0;
  for (const std::string& file : {path, samples_of(path)}) {
    std::filesystem::remove(file);
    write_unfolded(file, image, 1, false);
  }
  try {
    live::ProcessesHere processes;
    live::Program program(path, processes);
    program.look();
    for (bool closed : {false, true}) {
      for (const std::string& file : {path, samples_of(path)}) write_unfolded(file, image, 2, closed);
      program.look();
      show(program);
    }
    judge(path);
  } catch (const Error& refused) {
    fuzz::require(*refused.what() != 0, "a recording that is refused is refused with a reason");
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(u8* data, size_t size, size_t max_size, unsigned seed) {
  static const std::string seeds[] = {fuzz::followed_recording(false), fuzz::followed_recording(true),
                                      fuzz::forged_recording()};
  return fuzz::mutate_recording(data, size, max_size, seed, seeds[seed % std::size(seeds)]);
}
