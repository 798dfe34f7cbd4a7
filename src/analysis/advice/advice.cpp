#include "analysis/advice/advice.h"

#include <algorithm>

#include "analysis/advice/rule.h"

namespace tprof {
namespace {

using Function = std::optional<Match> (*)(const Facts&);
constexpr Function kFunctions[] = {
#define RULE(function, id, moderate, high, title, fix, link) rules::function,
#include "analysis/advice/advice.def"
#undef RULE
};

}  // namespace

const std::vector<AdviceRule>& advice_rules() {
  static const std::vector<AdviceRule> kRules = {
#define RULE(function, id, moderate, high, title, fix, link) {id, moderate, high, title, fix, link},
#include "analysis/advice/advice.def"
#undef RULE
  };
  return kRules;
}

std::vector<Advice> advise(const Facts& facts) {
  std::vector<Advice> out;
  for (size_t i = 0; i < advice_rules().size(); i++) {
    const AdviceRule& rule = advice_rules()[i];
    // No rule can judge part of a trace, where shares of time are not known, nor a step that was not finished.
    if (facts.is_excerpt || facts.died_early) break;
    std::optional<Match> match = kFunctions[i](facts);
    if (!match || match->value <= rule.moderate) continue;
    bool known = match->saving_ns >= 0 && facts.step_ns() > 0;
    double saved = known ? match->saving_ns / facts.step_ns() : 0;
    bool high = match->value > rule.high && (!known || saved >= std::min(kHighSaving, rule.high / 2));
    out.push_back({&rule, high ? Grade::high : Grade::moderate, std::move(*match), known && saved < kMinorShare});
  }
  std::stable_sort(out.begin(), out.end(), [](const Advice& a, const Advice& b) {
    if (a.minor != b.minor) return b.minor;
    double x = std::max(a.match.saving_ns, 0.0), y = std::max(b.match.saving_ns, 0.0);
    return x != y ? x > y : a.grade > b.grade;
  });
  return out;
}

size_t count_to_show(const std::vector<Advice>& advice, size_t most) {
  size_t n = 0;
  while (n < advice.size() && n < most && !advice[n].minor) n++;
  return n;
}

EvidencePlace place_of(const Model& model, const Evidence& evidence) {
  switch (evidence.kind) {
    case Evidence::Kind::range: {
      const Event& e = model.events[evidence.index];
      return {model.names[e.name], e.begin_ns, e.dur_ns, e.thread};
    }
    case Evidence::Kind::call: {
      const CallEvent& e = model.calls[evidence.index];
      return {model.names[e.name], e.begin_ns, e.dur_ns, e.thread};
    }
    case Evidence::Kind::gpu_work: {
      const GpuEvent& e = model.gpu[evidence.index];
      return {model.names[e.name], e.begin_ns, e.dur_ns, kNone};
    }
    case Evidence::Kind::memory: {
      const MemoryEvent& e = model.memory[evidence.index];
      return {"[memory]", e.ns, 0, e.thread};
    }
  }
  return {};
}

namespace rules {

std::string ms(double ns) { return printed(ns < 1e4 ? "%.3f ms" : ns < 1e6 ? "%.2f ms" : "%.1f ms", ns / 1e6); }
std::string mib(double bytes) {
  return bytes >= double(1 << 30) ? printed("%.2f GiB", bytes / double(1 << 30))
                                  : printed("%.1f MiB", bytes / double(1 << 20));
}

}  // namespace rules
}  // namespace tprof
