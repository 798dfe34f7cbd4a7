#include "live/chunk_follower.h"

#include <algorithm>

namespace tprof::live {
namespace {

// How many chunks a look checks for being new: the newest ones, which the writer may have prepared ahead, and as many
// of the others, in turns, which may have been punched out or used again.
constexpr u32 kChecked = 128;
// A chunk of a phase that is over is left after so many looks without a new record.
constexpr u32 kIdleLooks = 4;

}  // namespace

void ChunkFollower::check(u32 index) {
  ChunkHeader header;
  if (!recording_.chunk_header(index, header)) {
    known_.erase(index);
    return;
  }
  auto [known, added] = known_.try_emplace(index, header.first_ticks);
  if (!added && known->second == header.first_ticks) return;
  known->second = header.first_ticks;
  std::erase_if(open_, [&](const Open& chunk) { return chunk.place.index == index; });
  open_.push_back({Recording::place_in(index, header), header.first_ticks, header.stream == u32(Stream::meta)});
}

void ChunkFollower::find_chunks() {
  u32 count = recording_.chunk_count();
  u32 newest = first_ ? 0 : count - std::min(count, kChecked);
  for (u32 i = newest; i < count; i++) check(i);
  for (u32 i = 0; i < std::min(newest, kChecked); i++) {
    if (checked_ >= newest) checked_ = 0;
    check(checked_++);
  }
  std::sort(open_.begin(), open_.end(), [](const Open& a, const Open& b) {
    if (a.meta != b.meta) return a.meta;
    return a.first_ticks != b.first_ticks ? a.first_ticks < b.first_ticks : a.place.index < b.place.index;
  });
}

// At the first look: the chunks of each thread before the one that was its newest at `since`.
void ChunkFollower::leave_old_ones(u64 since) {
  std::unordered_map<u32, u64> newest;  // by thread
  for (const Open& chunk : open_)
    if (!chunk.meta && chunk.first_ticks <= since) newest[chunk.place.tid] = chunk.first_ticks;
  std::erase_if(open_, [&](const Open& chunk) {
    auto at = newest.find(chunk.place.tid);
    bool old = !chunk.meta && at != newest.end() && chunk.first_ticks < at->second;
    if (old) left_out_before_ = std::max(left_out_before_, at->second);
    return old;
  });
}

// Whether nothing can follow: the thread has gone on to another chunk, or the phase is over and all was read.
bool ChunkFollower::is_over(const Open& chunk) const {
  if (chunk.place.at + sizeof(RecordHead) > kChunkBytes) return true;
  if (chunk.idle == 0) return false;
  for (const Open& other : open_) {
    bool same = chunk.meta ? other.meta : !other.meta && other.place.tid == chunk.place.tid;
    if (same && other.first_ticks > chunk.first_ticks) return true;
  }
  return !chunk.meta && chunk.idle > kIdleLooks && chunk.place.epoch != recording_.header().epoch.load();
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
void ChunkFollower::read(bool meta, const Visit& visit) {
  std::vector<Open> rest;
  for (Open& chunk : open_)
    if (chunk.meta != meta || read(chunk, visit)) rest.push_back(chunk);
  open_ = std::move(rest);
}

void ChunkFollower::look(const Visit& meta, const Visit& data) {
  find_chunks();
  read(true, meta);
  if (first_) leave_old_ones(since_());
  first_ = false;
  read(false, data);
  std::vector<Open> rest = open_;
  std::erase_if(rest, [&](const Open& chunk) { return is_over(chunk); });
  open_ = std::move(rest);
}

}  // namespace tprof::live
