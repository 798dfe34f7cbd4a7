// Follows the chunks of a recording that is being written: each look visits the records that were added since the one
// before. Chunks that are punched out, used again for something else, or cut off with the end of the file are left at
// once. What is kept is a few bytes for each chunk in the file.
#pragma once
#include <functional>
#include <set>
#include <unordered_map>
#include <vector>

#include "record/reader.h"

namespace tprof::live {

class ChunkFollower {
 public:
  // Data of chunks that were full before `since` (ticks) is not visited. It is asked for by the first look, once that
  // has visited the meta stream, which tells what time it is on another machine.
  using Since = std::function<u64()>;
  ChunkFollower(Recording& recording, Since since) : recording_(recording), since_(std::move(since)) {}

  using Visit = std::function<void(const RecordView&)>;
  // The recording was refreshed. First the meta stream, then data, each thread's in the order of time. What was written
  // before a record of the meta stream that is visited is visited by the same look.
  void look(const Visit& meta, const Visit& data);
  // Ticks: what was left out by the first look is older; 0: nothing was.
  u64 left_out_before() const { return left_out_before_; }

 private:
  struct Open {
    ChunkPlace place;
    u64 first_ticks;
    Stream stream;
    u32 idle = 0;  // looks that found nothing new
    bool is_data() const { return stream == Stream::data; }
  };
  void find_chunks();
  void check(u32 index);
  void leave_old_ones(u64 since);
  void read(bool data, const Visit& visit);
  bool read(Open& chunk, const Visit& visit);
  bool is_over(const Open& chunk) const;

  Recording& recording_;
  Since since_;
  u64 left_out_before_ = 0;
  std::unordered_map<u32, u64> known_;  // index -> ChunkHeader::first_ticks, of the chunks that were found
  std::set<u32> unused_;                // chunks that the writer has prepared ahead
  std::vector<Open> open_;              // those that may grow
  u32 counted_ = 0;                     // chunks at the last look
  u32 checked_ = 0;                     // chunks from here on are checked next, besides those that may be new
  bool first_ = true;
};

}  // namespace tprof::live
