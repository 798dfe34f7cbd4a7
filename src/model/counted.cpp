#include "model/counted.h"

#include <algorithm>

#include "model/settled.h"

namespace tprof {
namespace {

constexpr StepSourceNames kStepSources[] = {
    {StepBy::none, "none found: the whole span", "none", ""},
    {StepBy::api, "tprof_step()", "given", "tprof_step()"},
    {StepBy::profiler_step, "the script's own ProfilerStep", "given", "the script's own ProfilerStep"},
    {StepBy::option, "TPROF_STEP", "given", "TPROF_STEP"},
    {StepBy::dataloader, "DataLoader", "training", "a batch and an update each"},
    {StepBy::optimizer, "optimizer", "training", "an update each"},
    {StepBy::forward, "nn.Module calls", "inference", "a call each"},
    {StepBy::backward, "backward", "training", "a backward pass each, no optimizer"},
    {StepBy::inference_batch, "DataLoader", "inference", "a batch each"},
    {StepBy::range, "TPROF_STEP", "given", "TPROF_STEP"},
};
constexpr size_t kSources = std::size(kStepSources);
constexpr StepSourceNames kUnknownSource{StepBy::none, "unknown", "unknown", "of a kind that this tprof does not know"};

constexpr char kGuessed[] =
    "; guessed from signs that disagree: set --step optimizer, dataloader or range:REGEX to decide";

std::string many(u64 count, const char* one, const char* more) {
  return std::to_string(count) + " " + (count == 1 ? one : more);
}

// The source of most steps; if two have equally many, the later one.
template <class Steps>
StepBy usual_source(const Steps& steps) {
  u64 of[kSources + 1] = {};
  StepBy most = StepBy::none;
  u64 best = 0;
  for (const auto& step : steps) {
    u64 count = ++of[std::min<size_t>(static_cast<size_t>(step.by), kSources)];
    if (count < best) continue;
    best = count;
    most = step.by;
  }
  return most;
}

template <class Stretch>
void add(Counted& counted, const Stretch& s, bool continued, i64 ns) {
  StretchSum& sum = counted.stretches[u32(s.kind) - 1];
  sum.count++;
  sum.continued += continued;
  sum.batches += s.batches;
  sum.calls += s.calls;
  sum.left_out += s.left_out;
  sum.ns += ns;
}

std::string steps_text(const Counted& counted) {
  const StepSourceNames& words = names_of(counted.by);
  if (counted.steps == 0) return "no steps";
  if (&words == &kStepSources[0]) return "no steps found, the whole span counts as one";
  std::string kind = words.kind, each = words.each;
  if (size_t at = each.find(" each"); counted.steps == 1 && at != each.npos) each.erase(at, 5);
  std::string which = kind == "training" || kind == "inference" ? kind + " " : "";
  return std::to_string(counted.steps) + " " + which + (counted.steps == 1 ? "step (" : "steps (") + each + ")";
}

}  // namespace

const StepSourceNames& names_of(StepBy by) {
  for (const StepSourceNames& words : kStepSources)
    if (words.by == by) return words;
  return kUnknownSource;
}

StepBy step_by(std::string_view source, std::string_view kind) {
  for (const StepSourceNames& words : kStepSources)
    if (words.source == source && words.kind == kind) return words.by;
  return StepBy::none;
}

Counted counted_of(const Model& model) {
  Counted out;
  out.steps = model.steps.size();
  out.by = usual_source(model.steps);
  out.before_training = model.before_training;
  for (const Step& step : model.steps) out.guessed |= step.guessed;
  for (const Stretch& s : model.stretches) add(out, s, s.continued, s.end_ns - s.begin_ns);
  return out;
}

Counted counted_of(const Meta& meta) {
  Counted out;
  std::vector<StepInfo> steps = settled_steps(meta);
  out.steps = steps.size();
  out.by = usual_source(steps);
  for (const StepInfo& step : steps) out.guessed |= (step.flags & kStepGuessed) != 0;
  for (const StretchInfo& s : settled_stretches(meta)) add(out, s, false, 0);
  return out;
}

Counted& operator+=(Counted& sum, const Counted& more) {
  auto add_sum = [](StretchSum& a, const StretchSum& b) {
    a.count += b.count - b.continued;
    a.batches += b.batches;
    a.calls += b.calls;
    a.left_out += b.left_out;
    a.ns += b.ns;
  };
  if (more.steps > sum.steps) sum.by = more.by;
  sum.steps += more.steps;
  sum.guessed |= more.guessed;
  sum.before_training |= more.before_training;
  for (u32 i = 0; i < kStretchKinds; i++) add_sum(sum.stretches[i], more.stretches[i]);
  return sum;
}

std::string stretches_text(StretchKind kind, const StretchSum& sum) {
  auto parts = [&](u64 count) { return sum.batches ? many(count, "batch", "batches") : many(count, "call", "calls"); };
  static constexpr struct {
    const char *one, *more, *rest;
  } kWords[] = {{"evaluation", "evaluations", ""},
                {"stretch", "stretches", " of inference"},
                {"stretch", "stretches", " after the loop"},
                {"stretch", "stretches", " of batches whose gradients were never used"},
                {"stretch", "stretches", " between the steps"}};
  static_assert(std::size(kWords) == kStretchKinds);
  const auto& words = kWords[u32(kind) - 1];
  std::string out = many(sum.count, words.one, words.more) + words.rest;
  if (u64 all = sum.batches ? sum.batches : sum.calls; all && kind == StretchKind::evaluation)
    out += " of " + parts(all) + (sum.count > 1 ? " in all" : "");
  return out + (sum.left_out ? " (" + parts(sum.left_out) + " not recorded)" : "");
}

std::string counted_text(const Counted& counted) {
  std::string out = steps_text(counted);
  for (StretchKind kind : {StretchKind::evaluation, StretchKind::inference, StretchKind::left_over})
    if (counted.of(kind).count) out += ", " + stretches_text(kind, counted.of(kind));
  if (counted.before_training) out += ", counted before the program began to train";
  return out + (counted.guessed ? kGuessed : "");
}

}  // namespace tprof
