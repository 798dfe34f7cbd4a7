// The step detector on token streams of many loops. Letters: D d batch drawn (d: StopIteration), F forward in
// training mode, f forward without grad, G forward of a second module, B backward pass, O optimizer, A scaler
// update, Z zero_grad, U ProfilerStep (u its end), S tprof_step, ( ) an optimizer with a closure, R matching range.
#include "collect/steps.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace tprof;

namespace {

struct Recorder : StepSink {
  struct Step {
    i64 number;
    u64 begin;
    StepBy by;
    bool worked;
  };
  std::vector<Step> steps;
  void step_begins(i64 number, u64 ticks, StepBy by, bool) override {
    EXPECT_EQ(number, i64(steps.size()));
    steps.push_back({number, ticks, by, false});
  }
  void step_moves(u64 ticks) override { steps.back().begin = ticks; }
  void step_confirmed() override {}
  void step_works() override { steps.back().worked = true; }
};

Recorder play(const char* tokens, const char* source = "auto") {
  Recorder out;
  StepSource s;
  OptionError error;
  EXPECT_TRUE(parse_step_source(source, s, error)) << error.text;
  StepDetector d;
  d.reset(s, &out, 0);
  int model = 0, other = 0;
  i64 sequence = 100;
  u64 t = 0;
  for (const char* c = tokens; *c; c++) {
    t += 10;
    switch (*c) {
      case 'D': d.load_begins(t), d.load_ends(t + 1, true); break;
      case 'd': d.load_begins(t), d.load_ends(t + 1, false); break;
      case 'F': d.module_called(t, &model, false); break;
      case 'f': d.module_called(t, &model, true); break;
      case 'G': d.module_called(t, &other, false); break;
      case 'g': d.module_called(t, &other, true); break;
      case 'B': sequence += 10, d.backward_node(t, sequence), d.backward_node(t + 1, sequence - 1); break;
      case 'O': d.optimizer_begins(t), d.optimizer_ends(t + 1); break;
      case '(': d.optimizer_begins(t); break;
      case ')': d.optimizer_ends(t); break;
      case 'A': d.scaler_updated(t); break;
      case 'Z': d.zero_grad_begins(t), d.zero_grad_ends(t + 1); break;
      case 'U': d.profiler_step_begins(t); break;
      case 'u': d.profiler_step_ends(t); break;
      case 'S': d.api_step(t); break;
      case 'R': d.range_matched(t); break;
    }
  }
  return out;
}

int count(const char* tokens, const char* source = "auto") {
  int n = 0;
  for (auto& s : play(tokens, source).steps) n += s.worked;
  return n;
}

}  // namespace

TEST(Steps, PlainWithLoader) { EXPECT_EQ(count("DFBODFBODFBO"), 3); }
TEST(Steps, StopIterationMakesNone) { EXPECT_EQ(count("DFBODFBOd"), 2); }
TEST(Steps, SeveralEpochs) { EXPECT_EQ(count("DFBODFBOdDFBODFBOdDFBODFBOd"), 6); }
TEST(Steps, NoLoader) { EXPECT_EQ(count("FBOFBOFBO"), 3); }
TEST(Steps, NoLoaderNoModule) { EXPECT_EQ(count("BOBOBO"), 3); }
TEST(Steps, ZeroGradFirst) { EXPECT_EQ(count("ZFBOZFBOZFBO"), 3); }
TEST(Steps, ZeroGradLast) { EXPECT_EQ(count("FBOZFBOZFBOZ"), 3); }
TEST(Steps, AccumulationWithLoader) { EXPECT_EQ(count("DFBDFBODFBDFBO"), 2); }
TEST(Steps, AccumulationWithoutLoader) { EXPECT_EQ(count("FBFBFBFBOFBFBFBFBO"), 2); }
TEST(Steps, TwoOptimizersBackToBack) {
  EXPECT_EQ(count("DFBOODFBOO"), 2);
  EXPECT_EQ(count("FBOOFBOOFBOO"), 3);
}
TEST(Steps, GanWithLoader) { EXPECT_EQ(count("DFBOFBODFBOFBO"), 2); }
TEST(Steps, GanWithoutLoaderIsAStepPerUpdate) { EXPECT_EQ(count("FBOFBOFBOFBO"), 4); }
TEST(Steps, ScalerWithSkippedStep) {
  EXPECT_EQ(count("DFBOADFBADFBOA"), 3);
  EXPECT_EQ(count("FBOAFBAFBOA"), 3);
}
TEST(Steps, InferenceWithLoader) { EXPECT_EQ(count("DfDfDfd"), 3); }
TEST(Steps, InferenceWithLoaderAndNoModule) { EXPECT_EQ(count("DDDd"), 3); }
TEST(Steps, InferenceWithoutLoader) { EXPECT_EQ(count("ffff"), 4); }
TEST(Steps, InferenceWithTwoModules) { EXPECT_EQ(count("fgfgfg"), 3); }
TEST(Steps, TrainThenEval) {
  EXPECT_EQ(count("DFBODFBOdDfDfd"), 4);
  EXPECT_EQ(count("FBOFBOffFBOFBOff"), 8);
}
TEST(Steps, EvalWithoutLoaderAfterTrainingWithOne) { EXPECT_EQ(count("DFBODFBOdff"), 4); }
TEST(Steps, ProfilerStepOfTheScriptWins) {
  auto steps = play("UDFBOuUDFBOuUDFBOuUu").steps;
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_FALSE(steps[3].worked) << "what follows the last prof.step() is no step unless work follows";
  EXPECT_EQ(steps[2].by, StepBy::profiler_step);
}
TEST(Steps, ProfilerStepInPlainTensorLoops) { EXPECT_EQ(count("UuUuUuUu"), 3); }
TEST(Steps, AutomaticAgainAfterTheScriptsProfiler) { EXPECT_EQ(count("UDFBOuUDFBOuDFBODFBO"), 4); }
TEST(Steps, ApiStepEndsAStep) {
  EXPECT_EQ(count("DFBOSDFBOSDFBOS"), 3);
  EXPECT_EQ(count("FBOSFBOSFBOS"), 3);
  EXPECT_EQ(count("SSS"), 3);
}
TEST(Steps, ClosureOptimizer) {
  EXPECT_EQ(count("D(FBFB)D(FBFB)"), 2);
  EXPECT_EQ(count("(FBFB)(FBFB)(FB)"), 3);
}
TEST(Steps, SeveralForwardsBeforeOneBackward) { EXPECT_EQ(count("FFFBOFFFBOFFFBO"), 3); }
TEST(Steps, OneBatchDrawnOnceThenAManualLoop) {
  std::string loop = "D";
  for (int i = 0; i < 20; i++) loop += "FBO";
  EXPECT_EQ(count(loop.c_str()), 20);
}
TEST(Steps, ForwardsInTrainingModeOnly) { EXPECT_EQ(count("FFFFFFFFFFFF"), 12); }
TEST(Steps, LabelsStayWhole) {
  struct : StepSink {
    u64 at = 0;
    void step_begins(i64, u64 ticks, StepBy, bool) override { at = ticks; }
    void step_moves(u64 ticks) override { at = ticks; }
    void step_confirmed() override {}
    void step_works() override {}
  } sink;
  StepDetector d;
  d.reset(StepSource{}, &sink, 0);
  int module;
  u64 open[] = {5, 8};  // a label around the loop, one around the forward
  d.module_called(d.before_labels(10, open, 2), &module, true);
  EXPECT_EQ(sink.at, 8u);
  open[1] = 15;
  d.module_called(d.before_labels(20, open, 2), &module, true);
  EXPECT_EQ(sink.at, 15u);
  d.backward_node(21, 1), d.optimizer_begins(22), d.optimizer_ends(25);
  EXPECT_EQ(sink.at, 25u);
  d.label_ends(27, 16);
  EXPECT_EQ(sink.at, 27u) << "the edge moves behind the label around the optimizer";
  d.label_ends(30, 5);
  EXPECT_EQ(sink.at, 27u) << "but not behind one that is older than the step";
}
TEST(Steps, SetupBeforeTheFirstBatchBelongsToNone) {
  auto steps = play("FZDFBODFBO").steps;
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].begin, 30u);
}
TEST(Steps, EdgeLiesBehindTheLastOptimizer) {
  auto steps = play("FBOOFBO").steps;
  EXPECT_EQ(steps[1].begin, 41u);
  EXPECT_EQ(play("FBOZFBO").steps[1].begin, 41u) << "a trailing zero_grad belongs to the step it ends";
  EXPECT_EQ(play("ZFBOZFBO").steps[1].begin, 41u) << "a leading one to the step it begins";
}
TEST(Steps, OptionOptimizer) { EXPECT_EQ(count("DFBOFBODFBOFBO", "optimizer"), 4); }
TEST(Steps, OptionDataloader) { EXPECT_EQ(count("DFBDFBODFBDFBOd", "dataloader"), 4); }
TEST(Steps, OptionBackward) {
  EXPECT_EQ(count("FBOFBOFBOFBO", "backward:2"), 2);
  EXPECT_EQ(count("FBFBFB", "backward:1"), 3);
  EXPECT_EQ(count("BBBB", "backward:2"), 2);
}
TEST(Steps, OptionRange) { EXPECT_EQ(count("RDFBORDFBORDFBO", "range:x"), 3); }
