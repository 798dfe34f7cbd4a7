// What to change: a table of rules (advice.def), applied to the facts of a Model.
//
// A finding says how sure it is of what: its value against the rule's thresholds, the share of the step that it
// concerns, an estimate of what a step would save, and the events of the trace that show it.
#pragma once
#include <optional>

#include "analysis/facts.h"

namespace tprof {

enum class Grade : u8 { moderate, high };

struct AdviceRule {
  const char* id;
  double moderate, high;  // a value above is a finding
  const char* title;
  const char* fix;
  const char* link;
};

struct Evidence {
  enum class Of : u8 { range, call, work, memory } of;
  u32 index;  // into Model::events, calls, gpu or memory
};

// What a rule found, before it is graded.
struct Match {
  double value;           // see the rule
  double share = -1;      // of the step, 0 to 1; -1 not known
  double saving_ns = -1;  // per step, estimated; -1 not known
  std::string what;       // one sentence with the numbers
  std::vector<Evidence> evidence = {};  // most telling first
};

struct Advice {
  const AdviceRule* rule;
  Grade grade;
  Match match;
};

constexpr size_t kMostAdvice = 7;  // shown; what follows is counted

const std::vector<AdviceRule>& advice_rules();

// Largest saving first; without one, higher grade first.
std::vector<Advice> advise(const Facts& facts);

// Where a finding can be seen in the timeline.
struct EvidencePlace {
  std::string name;
  i64 begin_ns, dur_ns;
  u32 thread;  // index into Model::threads, kNone: on a GPU
};
EvidencePlace place_of(const Model& model, const Evidence& evidence);

}  // namespace tprof
