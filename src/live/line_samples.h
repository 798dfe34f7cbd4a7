// The samples of a program (record/companion.h) while they are written: in which lines of Python it was in the last
// seconds. Samples of the main thread count, and of other threads those taken while they ran: a thread that waits for
// work says nothing.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "live/chunk_follower.h"
#include "live/name_texts.h"
#include "live/recent_sums.h"

namespace tprof::live {

struct SampledLine {
  std::string file, function;
  i32 line = 0;             // -1: not known
  u64 self = 0, total = 0;  // samples with this line innermost; anywhere on the stack
};

class LineSamples {
 public:
  // nullptr: there are none of that recording.
  static std::unique_ptr<LineSamples> open(const Recording& recording, u64 since_ns);

  void look();
  // Sorted by self.
  std::vector<SampledLine> lines(size_t most);
  u64 samples() const;                                     // in the last seconds
  const std::string& why_not() const { return why_not_; }  // there are no samples; empty if there are

 private:
  LineSamples(std::unique_ptr<Recording> file, u64 since_ns);
  void add_meta(const RecordView& view);
  void add_sample(const SampleRecord& sample);
  u64 line_key(const StackRecord& frame);

  std::unique_ptr<Recording> file_;
  ChunkFollower chunks_;
  NameTexts names_;
  std::vector<StackRecord> stacks_;  // by id
  std::unordered_map<u32, CodeInfo> codes_;
  RecentSums<u64> sums_;         // by code << 32 | line
  RecentSums<u32> all_samples_;  // by 0
  std::string why_not_;
};

}  // namespace tprof::live
