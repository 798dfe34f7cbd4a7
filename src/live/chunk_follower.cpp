#include "live/chunk_follower.h"

#include <algorithm>

namespace tprof::live {
namespace {

// A look checks all chunks that were given out since the last one, those that the writer has prepared ahead, and so
// many of the newest before them, of which the writer may not have written a header yet. Where chunks are not used
// again it also goes through the others, so many at a look, to forget those that were punched out.
constexpr u32 kChecked = 128;
// A chunk of a phase that is over is left after so many looks without a new record.
constexpr u32 kIdleLooks = 4;

}  // namespace

void ChunkFollower::check(u32 index) {
  ChunkHeader header{};
  if (!recording_.chunk_header(index, header)) {
    known_.erase(index);
    bool prepared = !header.magic && header.index == index;
    if (prepared)
      unused_.insert(index);
    else
      unused_.erase(index);
    return;
  }
  unused_.erase(index);
  auto [known, added] = known_.try_emplace(index, header.first_ticks);
  if (!added && known->second == header.first_ticks) return;
  known->second = header.first_ticks;
  std::erase_if(open_, [&](const Open& chunk) { return chunk.place.index == index; });
  open_.push_back({Recording::place_in(index, header), header.first_ticks, static_cast<Stream>(header.stream)});
}

void ChunkFollower::find_chunks() {
  u32 count = recording_.chunk_count();
  bool used_again = recording_.header().kept_epoch.load() != 0;
  u32 newest = first_ || used_again ? 0 : std::min(counted_, count - std::min(count, kChecked));
  for (u32 index : std::set<u32>(unused_))
    if (index < newest) check(index);
  for (u32 i = newest; i < count; i++) check(i);
  for (u32 i = 0; i < std::min(newest, kChecked); i++) {
    if (checked_ >= newest) checked_ = 0;
    check(checked_++);
  }
  counted_ = count;
  std::sort(open_.begin(), open_.end(), [](const Open& a, const Open& b) {
    if (a.is_data() != b.is_data()) return b.is_data();
    return a.first_ticks != b.first_ticks ? a.first_ticks < b.first_ticks : a.place.index < b.place.index;
  });
}

// At the first look: the chunks of each thread before the one that was its newest at `since`.
void ChunkFollower::leave_old_ones(u64 since) {
  std::unordered_map<u32, u64> newest;  // by thread
  for (const Open& chunk : open_)
    if (chunk.is_data() && chunk.first_ticks <= since) newest[chunk.place.tid] = chunk.first_ticks;
  std::erase_if(open_, [&](const Open& chunk) {
    auto at = newest.find(chunk.place.tid);
    bool old = chunk.is_data() && at != newest.end() && chunk.first_ticks < at->second;
    if (old) left_out_before_ = std::max(left_out_before_, at->second);
    return old;
  });
}

// Whether nothing can follow: the thread has gone on to another chunk, or the phase is over and all was read.
bool ChunkFollower::is_over(const Open& chunk) const {
  if (chunk.place.at + sizeof(RecordHead) > kChunkBytes) return true;
  if (chunk.idle == 0) return false;
  for (const Open& other : open_) {
    bool same = other.stream == chunk.stream && (!chunk.is_data() || other.place.tid == chunk.place.tid);
    if (same && other.first_ticks > chunk.first_ticks) return true;
  }
  return chunk.is_data() && chunk.idle > kIdleLooks && chunk.place.epoch != recording_.header().epoch.load();
}

// False: it is no longer that chunk.
bool ChunkFollower::read(Open& chunk, const Visit& visit) {
  ChunkHeader header;
  bool same = recording_.chunk_header(chunk.place.index, header) && header.first_ticks == chunk.first_ticks;
  if (!same) {
    known_.erase(chunk.place.index);
    return false;
  }
  u32 before = chunk.place.at;
  recording_.read_on(chunk.place, visit);
  chunk.idle = chunk.place.at == before ? chunk.idle + 1 : 0;
  return true;
}

// Those of the meta stream, or of data, in their order.
void ChunkFollower::read(bool data, const Visit& visit) {
  std::vector<Open> rest;
  for (Open& chunk : open_)
    if (chunk.is_data() != data || read(chunk, visit)) rest.push_back(chunk);
  open_ = std::move(rest);
}

void ChunkFollower::look(const Visit& meta, const Visit& data) {
  find_chunks();
  read(false, meta);
  if (first_) leave_old_ones(since_());
  first_ = false;
  read(true, data);
  std::vector<Open> rest = open_;
  std::erase_if(rest, [&](const Open& chunk) { return is_over(chunk); });
  open_ = std::move(rest);
}

}  // namespace tprof::live
