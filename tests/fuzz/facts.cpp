// The facts of a rank beside its trace, as another version or a broken disk left them.
#include "input/facts.h"
#include "analysis/ranks/distributed.h"
#include "analysis/ranks/doubts.h"
#include "json_mutator.h"
#include "report/communication.h"
#include "report/job_tables.h"
#include "scratch.h"

using namespace tprof;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  static const fuzz::Scratch scratch;
  std::string trace = scratch.file("host_1.1.pt.trace.json", "{}", 2);
  scratch.file(std::filesystem::path(facts_name(trace)).filename(), data, size);
  std::optional<Rank> rank = read_facts(trace);
  if (!rank) return 0;
  std::vector<Rank> ranks = {*rank, *rank};
  ranks[1].number = ranks[0].number == 1 ? 0 : 1;
  Distributed found = distributed(ranks);
  TextStyle style;
  text_of(ranks_table(found, ranks), style);
  text_of(stages_table(found, ranks), style);
  doubts_of(ranks);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(u8* data, size_t size, size_t max_size, unsigned seed) {
  return fuzz::mutate_json(data, size, max_size, seed);
}
