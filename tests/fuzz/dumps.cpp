// A dump of PyTorch's flight recorder, pickled or as JSON, as two ranks may have left it.
#include "hang/dumps.h"

#include "analysis/hang/verdict.h"
#include "base/error.h"
#include "json_mutator.h"
#include "scratch.h"

using namespace tprof;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  static const fuzz::Scratch scratch;
  try {
    hang::Dump dump = hang::read_dump(scratch.file("nccl_trace_rank_0", data, size));
    fuzz::require(dump.rank == 0, "the rank is that of the file's name");
    hang::Job job;
    job.world_size = 2;
    for (i32 number : {0, 1}) {
      hang::Rank rank;
      rank.number = number;
      rank.process.state = hang::State::elsewhere;
      rank.before = rank.now = dump.recent;
      job.ranks.push_back(rank);
    }
    if (!job.ranks[1].now.groups.empty() && !job.ranks[1].now.groups[0].calls.empty())
      job.ranks[1].now.groups[0].calls.pop_back();
    fuzz::require(!hang::verdict(job).sentence.empty(), "a verdict is a sentence");
  } catch (const Error& e) {
    fuzz::require(e.what()[0] != 0, "who refuses a file says why");
  }
  return 0;
}

// One of two mutators, for the two forms.
extern "C" size_t LLVMFuzzerMutate(u8* data, size_t size, size_t max_size);
extern "C" size_t LLVMFuzzerCustomMutator(u8* data, size_t size, size_t max_size, unsigned seed) {
  bool is_json = size && data[0] == '{' && seed % 8;
  return is_json ? fuzz::mutate_json(data, size, max_size, seed) : LLVMFuzzerMutate(data, size, max_size);
}
