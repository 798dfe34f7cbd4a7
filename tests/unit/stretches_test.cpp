// Evaluations and rollouts beside the steps, steps that were taken back, and what was counted before training: from the
// recording to the Model, the trace, its ledger and its name.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "check/check.h"
#include "convert/convert.h"
#include "input/trace_file.h"
#include "kineto/read/read.h"
#include "kineto/write/amend.h"
#include "model/build.h"
#include "model/counted.h"
#include "model/settled.h"
#include "model/spans.h"
#include "recording_builder.h"

namespace tprof {
namespace {

using namespace test;

constexpr u64 kT = kStart;

class StretchesTest : public testing::Test {
 protected:
  // Everything from start to exit.
  void whole(u64 end = kT + 10'000) { b.window(0, WindowState::sealed, -1, -1, kT, kT, end); }
  void op(u64 begin, u64 end) { b.range(kPid, 1, "aten::op", begin, end); }
  // A step with an operator at its begin and one at its end.
  void step(i64 number, u64 begin, u64 end, u32 flags = kStepHasWork, StepBy by = StepBy::dataloader) {
    b.step(number, begin, end, flags, by);
    op(begin + 10, begin + 20);
    op(begin + 70, begin + 80);
  }
  // Two steps, and an evaluation of ten batches between them.
  void long_evaluation() {
    whole(kT + 2000);
    step(0, kT + 100, kT + 200);
    b.stretch(StretchKind::evaluation, 0, kT + 200, kT + 1200, {.batches = 10, .calls = 10});
    for (u64 at = kT + 200; at < kT + 1200; at += 100) {
      b.stretch_part(at);
      op(at + 10, at + 20);
    }
    step(1, kT + 1200, kT + 1300);
  }
  Model build() {
    b.write(path());
    recording = Recording::open(path());
    Meta meta = recording->read_meta();
    return build_model(*recording, meta, request_of(meta.windows.at(0), meta));
  }
  // What a trace of the Model says, read back.
  Model read_back(const Model& m) {
    ConvertOptions options;
    options.use_gzip = false;
    ConvertResult result = convert_recording(path(), options);
    EXPECT_EQ(result.traces.size(), 1u);
    trace = result.traces.at(0).path;
    EXPECT_TRUE(is_valid(check_trace(trace)));
    EXPECT_EQ(m.stretches.size(), kineto::read_trace(trace).stretches.size());
    return kineto::read_trace(trace);
  }
  Json ledger() const { return read_summary(trace).ledger; }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(dir.path))
      if (is_trace_name(entry.path().filename())) out.push_back(entry.path().filename());
    std::sort(out.begin(), out.end());
    return out;
  }
  std::string path() const { return dir.path + "/r.tprof"; }
  static i64 ns(u64 ticks) { return i64(kWall + (ticks - kStart) - kBase); }
  static std::string name_at(const Model& m, u32 event) { return m.name_of(m.events[event]); }

  TempDir dir;
  RecordingBuilder b;
  std::unique_ptr<Recording> recording;
  std::string trace;
};

TEST_F(StretchesTest, AnEvaluationLiesBetweenTheSteps) {
  whole();
  step(0, kT + 100, kT + 200);
  b.stretch(StretchKind::evaluation, 0, kT + 200, kT + 400, {.batches = 2, .calls = 3});
  op(kT + 210, kT + 390);
  step(1, kT + 400, kT + 500);
  Model m = build();
  ASSERT_EQ(m.steps.size(), 2u);
  ASSERT_EQ(m.stretches.size(), 1u);
  const Stretch& s = m.stretches[0];
  EXPECT_EQ(m.steps[0].end_ns + kRoundingNs, ns(kT + 200));
  EXPECT_EQ(s.begin_ns, ns(kT + 200));
  EXPECT_EQ(s.end_ns + kRoundingNs, m.steps[1].begin_ns);
  EXPECT_EQ(s.batches, 2u);
  EXPECT_EQ(name_at(m, s.event), "Evaluation#0");
  EXPECT_EQ(m.events[s.event].parent, -1);
  EXPECT_FALSE(m.steps[0].evaluates || s.inside);
  Model read = read_back(m);
  ASSERT_EQ(read.stretches.size(), 1u);
  EXPECT_NEAR(read.stretches[0].begin_ns, s.begin_ns, 2);  // of so large numbers doubles lose a little
  EXPECT_NEAR(read.stretches[0].end_ns, s.end_ns, 2);
  EXPECT_EQ(read.stretches[0].batches, 2u);
  EXPECT_EQ(read.stretches[0].calls, 3u);
  EXPECT_EQ(name_at(read, read.stretches[0].event), "Evaluation#0");
  EXPECT_EQ(read.steps[0].by, StepBy::dataloader);
  Json step_words = ledger()["step"];
  EXPECT_EQ(step_words["source"], "DataLoader");
  EXPECT_EQ(step_words["kind"], "training");
  EXPECT_EQ(step_words["confidence"], "detected");
  EXPECT_EQ(step_words["count"], 2);
  EXPECT_EQ(step_words["counted"], "2 training steps (a batch and an update each), 1 evaluation of 2 batches");
  EXPECT_EQ(step_words["evaluations"]["count"], 1);
  EXPECT_EQ(step_words["evaluations"]["ns"], 198);
}

TEST_F(StretchesTest, TheLastStepEndsBeforeTheEvaluation) {
  whole();
  step(0, kT + 100, 0);
  b.stretch(StretchKind::evaluation, 0, kT + 200, 0, {.batches = 1});
  op(kT + 210, kT + 390);
  Model m = build();
  EXPECT_EQ(m.steps.at(0).end_ns, ns(kT + 180));  // its last work
  EXPECT_EQ(m.stretches.at(0).end_ns, ns(kT + 390));
}

TEST_F(StretchesTest, AnOpenOneEndsAtTheNextStep) {
  whole();
  b.stretch(StretchKind::inference, 0, kT + 100, 0, {.calls = 4});
  op(kT + 110, kT + 120);
  step(0, kT + 200, kT + 300, kStepHasWork, StepBy::optimizer);
  Model m = build();
  EXPECT_EQ(m.stretches.at(0).end_ns + kRoundingNs, m.steps.at(0).begin_ns);
  EXPECT_EQ(name_at(m, m.stretches[0].event), "Inference#0");
  EXPECT_EQ(counted_text(counted_of(m)), "1 training step (an update), 1 stretch of inference");
}

TEST_F(StretchesTest, AnEvaluationInsideAStepMarksIt) {
  whole();
  step(0, kT + 100, kT + 200);
  step(1, kT + 200, kT + 400);
  b.stretch(StretchKind::evaluation, 0, kT + 230, kT + 260, {.calls = 1, .flags = kStretchInside});
  op(kT + 240, kT + 250);
  Model m = build();
  ASSERT_EQ(m.stretches.size(), 1u);
  EXPECT_TRUE(m.stretches[0].inside);
  EXPECT_FALSE(m.steps.at(0).evaluates);
  EXPECT_TRUE(m.steps.at(1).evaluates);
  EXPECT_EQ(name_at(m, u32(m.events[m.stretches[0].event].parent)), "ProfilerStep#1");
  Model read = read_back(m);
  EXPECT_TRUE(read.stretches[0].inside && read.steps[1].evaluates && !read.steps[0].evaluates);
}

TEST_F(StretchesTest, BetweenPartsThatBecameOneStepIsInsideIt) {
  whole();
  step(0, kT + 100, kT + 200);
  b.stretch(StretchKind::evaluation, 0, kT + 200, kT + 300, {.batches = 1});
  op(kT + 210, kT + 290);
  step(1, kT + 300, kT + 400);
  b.stretch(StretchKind::evaluation, 1, kT + 400, kT + 500, {.batches = 1});
  op(kT + 410, kT + 490);
  b.restart(RestartWhy::recount, 1, kT + 500);
  step(1, kT + 500, kT + 600);
  Model m = build();
  ASSERT_EQ(m.steps.size(), 2u);
  ASSERT_EQ(m.stretches.size(), 2u);
  EXPECT_EQ(m.steps[0].end_ns + kRoundingNs, ns(kT + 400));
  EXPECT_TRUE(m.stretches[0].inside && m.steps[0].evaluates);
  EXPECT_FALSE(m.stretches[1].inside || m.steps[1].evaluates);
}

TEST_F(StretchesTest, WhatWasTakenBackIsNotThere) {
  whole();
  step(0, kT + 100, kT + 200);
  step(1, kT + 200, kT + 300, kStepHasWork | kStepWithdrawn);
  b.step(2, kT + 300, 0, kStepTentative);
  b.stretch(StretchKind::evaluation, 0, kT + 300, kT + 400, {.batches = 1, .flags = kStretchWithdrawn});
  b.stretch(StretchKind::evaluation, 0, kT + 20, kT + 90, {.batches = 1, .flags = kStretchBefore});
  op(kT + 30, kT + 40);
  Model m = build();
  EXPECT_EQ(m.steps.size(), 1u);
  EXPECT_TRUE(m.stretches.empty());
}

TEST_F(StretchesTest, WhatCameBeforeTheTrainingIsAnEvaluation) {
  whole();
  b.step(0, kT + 20, kT + 90, kStepHasWork, StepBy::inference_batch);
  b.stretch(StretchKind::evaluation, 0, kT + 20, kT + 90, {.batches = 1, .flags = kStretchBefore});
  op(kT + 30, kT + 40);
  b.restart(RestartWhy::training, 0, kT + 100);
  step(0, kT + 100, kT + 200);
  Model m = build();
  EXPECT_EQ(m.steps.size(), 1u);
  EXPECT_EQ(m.stretches.size(), 1u);
  EXPECT_FALSE(m.before_training);
  EXPECT_EQ(counted_text(counted_of(m)), "1 training step (a batch and an update), 1 evaluation of 1 batch");
}

TEST_F(StretchesTest, ALabelOfTheProgramsOwnIsNoEvaluation) {
  whole();
  step(0, kT + 100, kT + 200);
  b.range(kPid, 1, "Evaluation#0", kT + 120, kT + 130, {.scope = Scope::user});
  Model read = read_back(build());
  EXPECT_TRUE(read.stretches.empty());
}

TEST_F(StretchesTest, WhatWasLeftOutIsSaid) {
  whole();
  step(0, kT + 100, kT + 200);
  b.stretch(StretchKind::evaluation, 0, kT + 200, kT + 400, {.batches = 10, .left_out = 10});
  step(1, kT + 400, kT + 500, kStepHasWork | kStepGuessed);
  Model m = build();
  EXPECT_EQ(m.stretches.size(), 1u);
  EXPECT_EQ(counted_text(counted_of(m)),
            "2 training steps (a batch and an update each), 1 evaluation of 10 batches (10 batches not recorded); "
            "guessed from signs that disagree: set --step optimizer, dataloader or range:REGEX to decide");
  Model read = read_back(m);
  EXPECT_EQ(read.stretches[0].left_out, 10u);
  EXPECT_EQ(ledger()["step"]["confidence"], "guessed");
  EXPECT_EQ(ledger()["step"]["counted"], counted_text(counted_of(read)));
}

TEST_F(StretchesTest, ALongEvaluationIsCutBetweenItsBatches) {
  long_evaluation();
  b.write(path());
  auto r = Recording::open(path());
  Meta meta = r->read_meta();
  SpanRequest request = request_of(meta.windows[0], meta);
  auto cuts = cut_spans(*r, meta, request, 5);
  ASSERT_EQ(cuts.size(), 3u);
  EXPECT_EQ(cuts[0].end_ticks, kT + 500);  // step 0 and three batches
  EXPECT_EQ(cuts[1].end_ticks, kT + 1000);
  EXPECT_EQ(cuts[1].first_step, -1);
  EXPECT_EQ(cuts[2].first_step, 1);
  Counted sum;
  for (const SpanCut& cut : cuts) {
    request.begin_ticks = cut.begin_ticks;
    request.end_ticks = cut.end_ticks;
    Model m = build_model(*r, meta, request);
    ASSERT_EQ(m.stretches.size(), 1u);
    EXPECT_EQ(m.stretches[0].continued, cut.begin_ticks > kT);
    sum += counted_of(m);
  }
  EXPECT_EQ(counted_text(sum), "2 training steps (a batch and an update each), 1 evaluation of 10 batches");
}

TEST_F(StretchesTest, PartsWithStepsAreWrittenFirst) {
  long_evaluation();
  b.write(path());
  ConvertOptions options;
  options.max_events_per_span = 5;
  options.max_spans = 2;
  ConvertResult result = convert_recording(path(), options);
  ASSERT_EQ(result.traces.size(), 2u);
  EXPECT_EQ(result.traces[0].first_step, 0);
  EXPECT_EQ(result.traces[1].first_step, 1);
  EXPECT_NE(result.note.find("5 more events, all of evaluations, were not written"), std::string::npos) << result.note;
}

TEST_F(StretchesTest, CountsInWords) {
  auto text = [](StepBy by, u64 steps) { return counted_text({.by = by, .steps = steps}); };
  EXPECT_EQ(text(StepBy::none, 0), "no steps");
  EXPECT_EQ(text(StepBy::backward, 268), "268 training steps (a backward pass each, no optimizer)");
  EXPECT_EQ(text(StepBy::backward, 1), "1 training step (a backward pass, no optimizer)");
  EXPECT_EQ(text(StepBy::forward, 400), "400 inference steps (a call each)");
  EXPECT_EQ(text(StepBy::inference_batch, 400), "400 inference steps (a batch each)");
  EXPECT_EQ(text(StepBy::option, 5), "5 steps (TPROF_STEP)");
  Counted c{.by = StepBy::optimizer, .steps = 12};
  c.stretches[0] = {.count = 2, .batches = 20};
  c.stretches[1] = {.count = 3, .left_out = 1};
  c.stretches[2] = {.count = 1};
  c.stretches[3] = {.count = 1};
  EXPECT_EQ(counted_text(c),
            "12 training steps (an update each), 2 evaluations of 20 batches in all, "
            "3 stretches of inference (1 call not recorded), 1 stretch of batches whose gradients were never used");
}

// A window of inference, steps 1 and 2 of four, and then a training.
class BeforeTrainingTest : public StretchesTest {
 protected:
  void infer() {
    for (i64 s = 0; s < 4; s++) step(s, kT + 100 * u64(s), kT + 100 * u64(s + 1), kStepHasWork, StepBy::forward);
    b.window(0, WindowState::sealed, 1, 3, kT, kT + 100, kT + 300);
  }
  void train() {
    b.restart(RestartWhy::training, 0, kT + 1000);
    for (i64 s = 0; s < 4; s++) {
      u64 begin = kT + 1000 + 100 * u64(s);
      b.step(s, begin, begin + 100, kStepHasWork, StepBy::optimizer);
      b.range(kPid, 3, "aten::op", begin + 10, begin + 90);
    }
    b.window(1, WindowState::sealed, 1, 3, kT + 1000, kT + 1100, kT + 1300);
  }
  ConvertResult convert() {
    b.write(path());
    return convert_recording(path(), options, state);
  }
  ConvertOptions options;
  ConvertState state;
};

TEST_F(BeforeTrainingTest, WrittenLateItSaysSoAtOnce) {
  infer();
  train();
  ConvertResult result = convert();
  ASSERT_EQ(result.traces.size(), 2u);
  EXPECT_TRUE(result.traces[0].path.ends_with(".before_training.1800000000000000100.pt.trace.json.gz"));
  EXPECT_FALSE(result.traces[1].path.ends_with("before_training"));
  Json words = read_summary(result.traces[0].path).ledger["step"];
  EXPECT_EQ(words["before_training"], true);
  EXPECT_EQ(words["counted"], "2 inference steps (a call each), counted before the program began to train");
  EXPECT_EQ(words["steps"], (Json{{"first", 1}, {"last", 2}}));
  words = read_summary(result.traces[1].path).ledger["step"];
  EXPECT_FALSE(words.contains("before_training"));
  EXPECT_EQ(words["counted"], "2 training steps (an update each)");
  EXPECT_TRUE(kineto::read_trace(result.traces[0].path).before_training);
  EXPECT_TRUE(convert_recording(path(), options).traces[0].existed);
}

TEST_F(BeforeTrainingTest, WrittenEarlyItIsTold) {
  infer();
  ConvertResult early = convert();
  ASSERT_EQ(early.traces.size(), 1u);
  Json before = read_summary(early.traces[0].path).ledger["step"];
  EXPECT_EQ(before["counted"], "2 inference steps (a call each)");
  size_t events = kineto::read_trace(early.traces[0].path).events.size();
  train();
  convert();
  std::vector<std::string> all = names();
  ASSERT_EQ(all.size(), 2u);
  std::string told = dir.path + "/" + all[1];
  EXPECT_EQ(told, kineto::before_training_name(early.traces[0].path));
  Model m = kineto::read_trace(told);
  EXPECT_TRUE(m.before_training);
  EXPECT_EQ(m.events.size(), events);
  EXPECT_EQ(m.info["trace.traceName"], told);
  EXPECT_EQ(read_summary(told).ledger["step"]["steps"], before["steps"]);
  EXPECT_TRUE(convert().traces.empty());  // once only
}

TEST_F(BeforeTrainingTest, AnotherConversionTellsItToo) {
  infer();
  options.use_gzip = false;
  convert();
  train();
  state = {};
  EXPECT_EQ(convert().traces.size(), 2u);
  EXPECT_EQ(names().size(), 2u);
  EXPECT_TRUE(names()[1].find(".before_training.") != std::string::npos);
  std::ifstream in(dir.path + "/" + names()[1]);
  EXPECT_TRUE(nlohmann::json::accept(in));
}

TEST_F(BeforeTrainingTest, ATraceThatIsGoneStaysGone) {
  infer();
  std::filesystem::remove(convert().traces.at(0).path);
  train();
  EXPECT_EQ(convert().traces.size(), 1u);
  EXPECT_EQ(names().size(), 1u);
}

TEST_F(BeforeTrainingTest, DamageIsLeftAlone) {
  infer();
  std::string early = convert().traces.at(0).path;
  std::filesystem::resize_file(early, std::filesystem::file_size(early) / 2);
  EXPECT_FALSE(kineto::mark_before_training(early));
  EXPECT_EQ(names(), std::vector<std::string>{std::filesystem::path(early).filename()});
}

TEST_F(BeforeTrainingTest, AWindowThatHoldsTheTrainingIsOfIt) {
  b.step(0, kT + 10, kT + 90, kStepHasWork, StepBy::forward);
  b.window(0, WindowState::sealed, 0, 2, kT, kT, kT + 1200);
  b.restart(RestartWhy::training, 0, kT + 1000);
  step(0, kT + 1000, kT + 1100);
  step(1, kT + 1100, kT + 1200);
  Model m = build();
  EXPECT_FALSE(m.before_training);
  EXPECT_EQ(m.steps.size(), 2u);
}

}  // namespace
}  // namespace tprof
