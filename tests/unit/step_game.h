// Plays token streams to the step detector, a letter a token:
//   D E  a batch drawn from loader 1, 2      d e  that loader is exhausted     I  iter() of a loader
//   F G H  forward of model 1, 2, 3 with gradients in training mode             f g  ... without gradients
//   M    ... by a module that is made anew for each call, at one of two addresses
//   V v  forward of model 1 in eval mode, with and without gradients           W w  of model 2
//   N n  forward of a module without parameters, with gradients in training mode and without
//   B b  backward pass, and one whose gradients have a graph   < > a backward pass around what it runs
//   O optimizer   ( ) an optimizer around its closure   o p q optimizers of known parameters   A scaler update
//   Z gradients cleared   P a CUDA graph replayed   { } a CUDA graph captured
//   U u ProfilerStep and its end   S tprof_step   R matching range   X tokens were missed   . the program ends
// What is made of a stream reads like it: 0DFBO 1DFBO are two steps and their tokens, e0:DvDvd is Evaluation#0, i0:ff
// is Inference#0; inside a step a stretch stands in brackets, and what belongs to nothing stands alone. What
// the detector says meanwhile has to make sense, whatever the tokens are: `broken` names the first rule that it broke.
#pragma once
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "collect/steps/steps.h"

namespace tprof::test {

struct Span {
  std::string name;
  u64 begin, end;
  bool holds, inside;
  bool ended = false;  // a step: by a stretch that follows, not by the next step
  StepBy by = StepBy::none;
  u64 worked = 0, loop_end = 0;  // of a step, as in StepRecord
  u32 updates = 0;
  u32 batches = 0;  // of a stretch
};

// What the session and the readers make of a line.
struct Recorder final : StepSink {
  std::vector<Span> steps, stretches;
  StepBy by = StepBy::none;
  bool settled = false;
  u64 now = 0;
  std::string broken;

  void must(bool holds, const char* rule) {
    if (!holds && broken.empty()) broken = rule;
  }
  void step_begins(i64 number, u64 ticks, StepBy source) override {
    must(number == i64(steps.size()), "steps are numbered one by one");
    must(steps.empty() || steps.back().holds, "a step that follows shows that there was one");
    must(steps.empty() || ticks >= steps.back().begin, "steps begin in order");
    must(ticks <= now, "a step has begun");
    if (!steps.empty() && !steps.back().ended) steps.back().end = ticks;
    steps.push_back({std::to_string(number), ticks, 0, false, false, false, source});
    by = source;
  }
  void step_moves(u64 ticks) override {
    must(!steps.empty(), "a step moves that has begun");
    if (steps.empty()) return;
    must(ticks <= now && ticks >= steps.back().begin, "a step moves to a later time");
    steps.back().begin = ticks;
    if (steps.size() > 1 && !steps[steps.size() - 2].ended) steps[steps.size() - 2].end = ticks;
  }
  void step_withdrawn(i64 number) override {
    must(tentative(), "only a tentative step is withdrawn");
    if (!tentative()) return;
    steps.pop_back();
    must(number == i64(steps.size()) - 1, "the step before goes on");
    if (!steps.empty() && !steps.back().ended) steps.back().end = 0;
  }
  void step_confirmed() override {
    must(tentative(), "only a tentative step is confirmed");
    if (!tentative()) return;
    steps.back().holds = true;
    for (const Span& s : stretches)
      must(s.inside || !s.holds || s.begin >= steps.back().begin || (s.end && s.end <= steps.back().begin),
           "a step begins where no stretch is");
  }
  void step_worked(u64 ticks, bool update) override {
    must(ticks <= now, "a step has worked");
    if (steps.empty()) return;
    steps.back().worked = ticks;
    steps.back().updates += update;
  }
  void loop_ended(u64 ticks) override {
    must(ticks <= now, "a loop has ended");
    if (!steps.empty()) steps.back().loop_end = ticks;
  }
  void count_restarts(RestartWhy why, i64 number, u64 ticks, bool) override {
    must(number >= 0 && number <= i64(steps.size()), "counting goes on from a step that was counted");
    must(ticks <= now, "a step has begun");
    steps.resize(std::min(steps.size(), size_t(std::max<i64>(number, 0))));
    if (why == RestartWhy::recount && !steps.empty()) steps.back().end = ticks;
    if (why == RestartWhy::training)
      for (Span& s : stretches) s.holds = true;
  }
  void stretch_begins(StretchKind kind, i64 number, u64 ticks, bool inside) override {
    must(!open(), "one stretch at a time");
    must(ticks <= now, "a stretch has begun");
    must(steps.empty() || !settled || ticks >= steps.back().begin, "a stretch begins in or after the newest step");
    std::string name = (kind == StretchKind::evaluation ? "e" : "i") + std::to_string(number) + ":";
    stretches.push_back({name, ticks, 0, settled, inside});
    ends_step_ = !inside && settled && !steps.empty() && !steps.back().ended;
    if (!ends_step_) return;
    steps.back().end = ticks;
    steps.back().ended = true;
  }
  void stretch_goes_on(u64, u32 batches, u32) override {
    must(open(), "a stretch goes on that has begun");
    if (open()) stretches.back().batches = batches;
  }
  void stretch_ends(u64 ticks) override {
    must(open() && ticks > stretches.back().begin && ticks <= now, "a stretch ends after it has begun");
    if (open()) stretches.back().end = ticks;
  }
  void stretch_withdrawn() override {
    must(open(), "a stretch is withdrawn that has begun");
    if (!open()) return;
    stretches.pop_back();
    if (!ends_step_ || steps.empty() || !steps.back().ended) return;
    steps.back().end = 0;
    steps.back().ended = false;
  }

 private:
  bool ends_step_ = false;  // the stretch that is open ended the step before it

  bool tentative() const { return !steps.empty() && !steps.back().holds; }
  bool open() const { return !stretches.empty() && !stretches.back().end; }
};

struct Game {
  Recorder out;
  StepDetector d;
  std::string tokens;

  explicit Game(const char* source = "auto") {
    StepSource s;
    OptionError error;
    if (!parse_step_source(source, s, error)) out.broken = error.text;
    d.reset(s, &out, 0);
  }

  void play(const std::string& more) {
    for (char c : more) {
      tokens += c;
      u64 t = tokens.size() * 10;
      out.settled = d.settled();
      out.now = t + 1;
      token(c, t);
      out.must(d.number() == i64(out.steps.size()) - 1, "the detector and its sink count alike");
    }
  }

  // The stream, cut as the detector cut it, or the rule that it broke.
  std::string text() const {
    if (!out.broken.empty()) return out.broken;
    std::string out_text;
    const Span* last = nullptr;
    const Span* last_inside = nullptr;
    for (size_t i = 0; i < tokens.size(); i++) {
      u64 t = (i + 1) * 10;
      const Span *at = nullptr, *inside = nullptr;
      auto look = [&](const std::vector<Span>& spans) {
        for (const Span& s : spans)
          if (s.holds && t >= s.begin && (s.end == 0 || t < s.end)) (s.inside ? inside : at) = &s;
      };
      look(out.steps);
      look(out.stretches);
      if (last_inside && inside != last_inside) out_text += ']';
      if (at != last && at) out_text += (out_text.empty() ? "" : " ") + at->name;
      if (at != last && !at) out_text += ' ';
      if (inside && inside != last_inside) out_text += "[" + inside->name;
      out_text += tokens[i];
      last = at;
      last_inside = inside;
    }
    return out_text;
  }

 private:
  void call(u64 t, int module, bool gradients, bool training, bool again = false) {
    if (gradients && training) trained_.insert(module);
    d.module_called(t, {&models_[again ? 3 + tokens.size() % 2 : module], gradients, training,
                        module ? &parameters_[module] : nullptr, trained_.count(module) > 0});
    d.module_returned(t + 1);
  }

  void token(char c, u64 t) {
    switch (c) {
      case 'I': return d.loader_opened(t);
      case 'D': return d.draw_begins(t, &loaders_[0]), d.draw_ends(t + 1, true);
      case 'd': return d.draw_begins(t, &loaders_[0]), d.draw_ends(t + 1, false);
      case 'E': return d.draw_begins(t, &loaders_[1]), d.draw_ends(t + 1, true);
      case 'e': return d.draw_begins(t, &loaders_[1]), d.draw_ends(t + 1, false);
      case 'F': return call(t, 1, true, true);
      case 'M': return call(t, 1, true, true, true);
      case 'f': return call(t, 1, false, true);
      case 'V': return call(t, 1, true, false);
      case 'v': return call(t, 1, false, false);
      case 'G': return call(t, 2, true, true);
      case 'g': return call(t, 2, false, true);
      case 'H': return call(t, 3, true, true);
      case 'W': return call(t, 2, true, false);
      case 'w': return call(t, 2, false, false);
      case 'N': return call(t, 0, true, true);
      case 'n': return call(t, 0, false, true);
      case 'B':
      case 'b': return d.creates_graph(c == 'b'), d.backward_begins(t), d.backward_ends(t + 1);
      case '<': return d.backward_begins(t);
      case '>': return d.backward_ends(t);
      case 'O': return d.optimizer_begins(t, 0), d.optimizer_ends(t + 1);
      case 'o': return d.optimizer_begins(t, 1), d.optimizer_ends(t + 1);
      case 'p': return d.optimizer_begins(t, 2), d.optimizer_ends(t + 1);
      case 'q': return d.optimizer_begins(t, 3), d.optimizer_ends(t + 1);
      case '(': return d.optimizer_begins(t, 0);
      case ')': return d.optimizer_ends(t);
      case 'A': return d.scaler_updated(t + 1);
      case 'P': return d.graph_begins(t), d.graph_replayed(t + 1);
      case '{': return d.capture_begins();
      case '}': return d.capture_ends();
      case 'Z': return d.gradients_cleared(t);
      case 'U': return d.profiler_step_begins(t);
      case 'u': return d.profiler_step_ends(t);
      case 'S': return d.api_step(t);
      case 'R': return d.range_matched(t);
      case 'r': return d.range_ended(t);
      case 'X': return d.forget();
      case '.': return d.program_ends();
    }
    out.broken = std::string("no token: ") + c;
  }

  int models_[5] = {}, parameters_[4] = {}, loaders_[2] = {};
  std::set<int> trained_;
};

}  // namespace tprof::test
