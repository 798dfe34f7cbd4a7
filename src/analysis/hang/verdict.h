// Which rank or thread holds the others up. Pure: plain facts in, a verdict out.
#pragma once
#include "analysis/hang/meetings.h"

namespace tprof::hang {

enum class Verdict : u8 {
#define VERDICT(name, means, sentence) name,
#include "analysis/hang/verdict.def"
#undef VERDICT
};

enum class Means : u8 { stuck, slow, unknown };

struct Finding {
  Verdict verdict = Verdict::unknown;
  std::vector<u32> culprits;  // indices of ranks; empty: none in particular
  std::vector<u32> waiting;   // that wait for them
  std::string group;          // in which they do; empty: not known
  std::string sentence;
  // A thread, or a worker of the culprit's data loaders, whose stack is to be shown; 0: the main thread of the culprit.
  int tid = 0, worker = 0;
  std::vector<u32> candidates;  // the ranks of which a culprit was chosen by what they do
};

const char* word_of(Verdict verdict);
Means means(Verdict verdict);

// To be asked again when more of the culprits is known: without native stacks it is not known what their threads wait
// for.
Finding verdict(const Job& job);

}  // namespace tprof::hang
