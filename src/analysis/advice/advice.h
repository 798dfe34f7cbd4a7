// What to change: a table of rules (advice.def), applied to the facts of a Model.
//
// A finding has its value, which is compared with the rule's thresholds, the share of the step that it concerns, an
// estimate of what a step would save, and the events of the trace that show it.
#pragma once
#include <optional>

#include "analysis/advice/facts.h"

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
  enum class Kind : u8 { range, call, gpu_work, memory } kind;
  u32 index;  // into Model::events, calls, gpu or memory
};

// What a rule found, before it is graded.
struct Match {
  double value;                         // see the rule
  double share = -1;                    // of the step that is concerned, 0 to 1; -1: not known
  double saving_ns = -1;                // per step, at most; never more than the share; -1: not known
  std::string what;                     // one sentence with the numbers
  std::vector<Evidence> evidence = {};  // most telling first
  std::string fix = {};                 // replaces the rule's own fix if that does not apply
};

struct Advice {
  const AdviceRule* rule;
  Grade grade;
  Match match;
  bool minor = false;  // its saving is known and less than kMinorShare of a step: not worth a reader's time

  std::string fix() const { return match.fix.empty() ? rule->fix : match.fix; }
};

constexpr size_t kMaxAdvice = 7;  // findings shown, none of them minor; the others are only counted
constexpr double kMinorShare = 0.01;
// A finding of the high grade saves at least this share of a step, or half of the rule's high threshold if that is less
// (some rules count half of the time they find as saved, as an estimate), unless the saving is not known.
constexpr double kHighSaving = 0.05;

// How many findings to show from the start of advise()'s list.
size_t count_to_show(const std::vector<Advice>& advice, size_t most);

const std::vector<AdviceRule>& advice_rules();

// Largest saving first; without one, higher grade first. Minor findings stand at the end.
std::vector<Advice> advise(const Facts& facts);

// Where in the timeline a finding can be seen.
struct EvidencePlace {
  std::string name;
  i64 begin_ns, dur_ns;
  u32 thread;  // index into Model::threads, kNone: on a GPU
};
EvidencePlace place_of(const Model& model, const Evidence& evidence);

}  // namespace tprof
