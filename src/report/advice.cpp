#include "report/advice.h"

#include "report/fit.h"
#include "report/overview.h"

namespace tprof {
namespace {

constexpr size_t kShownEvidence = 2;

// The innermost frame of its call stack that is not torch's own, if the trace has the stack.
std::string frame_of(const Model& model, const Evidence& evidence) {
  u32 stack = 0;
  if (evidence.kind == Evidence::Kind::range) stack = model.events[evidence.index].stack;
  if (evidence.kind == Evidence::Kind::call) {
    const CallEvent& call = model.calls[evidence.index];
    stack = call.stack ? call.stack : call.op >= 0 ? model.events[call.op].stack : 0;
  }
  for (u32 at = stack; at; at = model.stacks[at].parent)
    if (const std::string& text = model.names[model.stacks[at].text]; text.find("/torch/") == text.npos) return text;
  return stack ? model.names[model.stacks[stack].text] : "";
}

}  // namespace

const char* grade_word(Grade grade) { return grade == Grade::high ? "high" : "moderate"; }

std::string advice_text(const Facts& facts, const std::vector<Advice>& advice, const Source& source, size_t most,
                        const TextStyle& style) {
  const Model& model = facts.model;
  std::string spread = spread_text(facts.overview);
  std::string out = source.title() + "  step " + time_text(whole_ns(facts.overview.average.us)) +
                    (spread.empty() ? "" : ", " + spread) + "\n";
  if (most == 0 && !facts.died_early) out += "  nothing found that is worth a change\n";
  i64 zero = first_moment(model);
  for (size_t i = 0; i < advice.size() && i < most; i++) {
    const Advice& a = advice[i];
    const char* color = !style.color ? "" : a.grade == Grade::high ? "\033[31m" : "\033[33m";
    out += std::string("  ") + color + a.rule->id + " " + grade_word(a.grade) + (style.color ? "\033[0m" : "") + "  " +
           a.rule->title;
    if (a.match.saving_ns > 0)
      out += "  (may save up to " + time_text(i64(a.match.saving_ns)) + " of a step, " +
             printed("%.0f %%", 100 * a.match.saving_ns / facts.step_ns()) + ")";
    out += "\n      " + a.match.what + "\n      -> " + a.fix() + "\n         " + a.rule->link + "\n";
    for (size_t k = 0; k < a.match.evidence.size() && k < kShownEvidence; k++) {
      EvidencePlace place = place_of(model, a.match.evidence[k]);
      std::string frame = frame_of(model, a.match.evidence[k]);
      out += "      see \"" + cut_middle(place.name, 60, style.utf8) + "\" at " + time_text(place.begin_ns - zero) +
             (place.thread == kNone ? ", GPU" : ", thread " + std::to_string(model.threads[place.thread].tid)) + ", " +
             time_text(place.dur_ns) + (frame.empty() ? "" : ", " + frame) + "\n";
    }
  }
  if (advice.size() > most) out += "  and " + std::to_string(advice.size() - most) + " more (--all shows them)\n";
  for (const std::string& line : facts.unknown()) out += "  not known: " + line + "\n";
  return wrapped_lines(out, style.width);
}

Json advice_json(const Facts& facts, const std::vector<Advice>& advice, const Source& source) {
  const Model& model = facts.model;
  auto known = [](double value, double scale) { return value >= 0 ? Json(value * scale) : Json(); };
  Json out = json_of(source);
  out["average_step_time_us"] = facts.step_ns() / 1e3;
  out["median_step_time_us"] = facts.variability.known ? Json(double(facts.variability.median_ns) / 1e3) : Json();
  out["recommendations"] = Json::array();
  i64 zero = first_moment(model);
  for (const Advice& a : advice) {
    Json one = {{"id", a.rule->id},
                {"severity", grade_word(a.grade)},
                {"title", a.rule->title},
                {"text", a.match.what},
                {"value", a.match.value},
                {"share_percent", known(a.match.share, 100)},
                {"saving_us_per_step", known(a.match.saving_ns, 1e-3)},
                {"minor", a.minor},
                {"fix", a.fix()},
                {"link", a.rule->link},
                {"evidence", Json::array()}};
    for (const Evidence& evidence : a.match.evidence) {
      EvidencePlace place = place_of(model, evidence);
      one["evidence"].push_back({{"name", place.name},
                                 {"at_us", double(place.begin_ns - zero) / 1e3},
                                 {"duration_us", double(place.dur_ns) / 1e3},
                                 {"thread", place.thread == kNone ? Json() : Json(model.threads[place.thread].tid)}});
    }
    out["recommendations"].push_back(std::move(one));
  }
  out["not_known"] = facts.unknown();
  return out;
}

}  // namespace tprof
