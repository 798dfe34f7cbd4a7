// Where steps end when no other one follows, and what is made of the rest: the detector's tokens, through the records,
// to the edges of the Model.
#include <gtest/gtest.h>

#include "model/settled.h"
#include "model/step_edges.h"
#include "step_game.h"

using namespace tprof;
using namespace tprof::test;

namespace {

// How recording ends.
enum class End { exit, killed, stopped };

std::string times(int n, const std::string& tokens) {
  std::string out;
  for (int i = 0; i < n; i++) out += tokens;
  return out;
}

// What the session makes of a game.
Meta meta_of(const Game& game, End how) {
  Meta meta;
  u64 end = game.tokens.size() * 10 + 10;
  const std::vector<Span>& steps = game.out.steps;
  for (size_t i = 0; i < steps.size(); i++) {
    const Span& s = steps[i];
    bool last = i + 1 == steps.size();
    u32 flags = s.holds ? kStepHasWork : kStepTentative;
    if (last && how == End::exit && game.d.void_at_end()) flags |= kStepWithdrawn;
    if (last && how == End::stopped && !s.end) flags |= kStepLeft;
    u64 step_end = last && how == End::stopped && !s.end ? end : s.end;
    meta.steps.push_back({i64(i), s.by, s.begin, step_end, flags, 1, s.worked, s.loop_end, s.updates});
  }
  for (const Span& s : game.out.stretches)
    meta.stretches.push_back({s.name[0] == 'e' ? StretchKind::evaluation : StretchKind::inference, atol(&s.name[1]),
                              s.begin, s.end, 0, 0, 0,
                              (s.inside ? u32(kStretchInside) : 0) | (s.holds ? 0 : u32(kStretchBefore)), 1});
  meta.windows.push_back({0, WindowState::sealed, 1, -1, -1, 0, 1, how == End::killed ? 0 : end});
  return meta;
}

// The stream, cut at the edges of the Model: e and i as in a game, a what lies after the loop, l what is left over, b
// what lies between two steps. A mark follows the number of a step that was cut: ! it ends with its update, < >
// recording began or ended inside it, + ended after its update.
std::string ends(const std::string& tokens, End how = End::exit, bool optimizers = true, const char* source = "auto") {
  Game game(source);
  game.d.optimizers_exist(optimizers);
  game.play(tokens);
  if (!game.out.broken.empty()) return game.out.broken;
  Meta meta = meta_of(game, how);
  i64 end = i64(tokens.size()) * 10 + 10;
  StepEdges edges(meta, false, 0, end, how == End::killed, [](u64 ticks) { return i64(ticks); });
  std::string out;
  const StepEdge* last = nullptr;
  for (size_t i = 0; i < tokens.size(); i++) {
    const StepEdge* at = nullptr;
    for (const StepEdge& e : edges.all())
      if (i64(i + 1) * 10 >= e.begin_ns && i64(i + 1) * 10 < e.end_ns) at = &e;
    if (at != last && i) out += ' ';
    if (at && at != last)
      out += at->step ? std::to_string(at->step->number) +
                            std::string(at->cut == StepCut::none ? "" : std::string(1, " <>+!"[u32(at->cut)]))
                      : std::string(1, " eialb"[u32(at->stretch->kind)]) + std::to_string(at->stretch->number) + ":";
    out += tokens[i];
    last = at;
  }
  return out;
}

}  // namespace

TEST(StepEnds, ALoaderThatIsExhaustedEndsTheLastStepWhereItIsDrawnFrom) {
  EXPECT_EQ(ends("DFBOnDFBOndnn"), "0DFBOn 1DFBOn a0:dnn");
  EXPECT_EQ(ends("DFBODFBOdDFBODFBOd"), "0DFBO 1DFBO a0:d 2DFBO 3DFBO a1:d") << "between two epochs, too";
  EXPECT_EQ(ends("DFBODFBOdIEvEve"), "0DFBO 1DFBO a0:d e0:IEvEve") << "before an evaluation";
}
TEST(StepEnds, WithoutALoaderTheLastStepEndsWithItsUpdate) {
  EXPECT_EQ(ends("FBOnFBOnn"), "0FBOn 1!FBO a0:nn");
  EXPECT_EQ(ends("ZFBOZFBO"), "0ZFBO 1!ZFBO") << "nothing follows";
  EXPECT_EQ(ends("FBOFBOnvv"), "0FBO 1!FBO a0:n e0:vv") << "an evaluation follows, later";
  EXPECT_EQ(ends("FBOFBOnnDvDvd"), "0FBO 1!FBO a0:nn e0:DvDvd") << "... over a loader";
  EXPECT_EQ(ends("FBOFBOF"), "0FBO 1!FBO a0:F") << "a forward pass for show";
}
TEST(StepEnds, ARangeThatTheUserNamesIsAStep) {
  for (const char* source : {"range:x", "nvtx:x"}) {
    auto ranges = [&](const std::string& tokens, End how = End::exit) { return ends(tokens, how, true, source); };
    EXPECT_EQ(ranges("nRFBrnRFOrnn"), "n 0RFB b0:rn 1RFO a0:rnn");
    EXPECT_EQ(ranges("RFrRFrRFrn"), "0RF b0:r 1RF b1:r 2RF a0:rn");
    std::string long_one = "R" + times(200, "F");
    EXPECT_EQ(ranges(long_one + "rRFrn"), "0" + long_one + " b0:r 1RF a0:rn") << "however little lies between";
    EXPECT_EQ(ranges("RFnRRFrnrnn"), "0RFn 1R 2RF a0:rnrnn") << "ranges in each other";
    EXPECT_EQ(ranges("RFrnRFn", End::killed), "0RF b0:rn 1>RFn") << "one that has not ended";
  }
}
TEST(StepEnds, ALoaderThatTheUserNamesEndsItsLastStep) {
  EXPECT_EQ(ends("DFDFdnDFDFdn", End::exit, true, "dataloader"), "0DF 1DF a0:dn 2DF 3DF a1:dn");
}
TEST(StepEnds, ABatchThatIsDrawnAndNotUsedEndsTheStepBefore) {
  EXPECT_EQ(ends("DFBOnDFBOnDn"), "0DFBOn 1DFBOn a0:Dn") << "a break out of the loop";
  EXPECT_EQ(ends("FBOnFBOnIDn"), "0FBOn 1!FBO a0:nIDn") << "a batch of another loader";
  EXPECT_EQ(ends("DFBOnDFBOnIEn"), "0DFBOn 1!DFBO a0:nIEn");
}
TEST(StepEnds, AnExceptionLeavesTheStepWithoutItsUpdate) {
  EXPECT_EQ(ends("DFBODFBODFB"), "0DFBO 1DFBO l0:DFB");
  EXPECT_EQ(ends("DFBODFBODF"), "0DFBO 1DFBO a0:DF") << "nothing was computed for an update";
}
TEST(StepEnds, SeveralOptimizersMakeOneUpdate) {
  EXPECT_EQ(ends("FBFBopnFBFBopn"), "0FBFBopn 1!FBFBop a0:n");
  EXPECT_EQ(ends("FBOAFBOnAn"), "0FBOA 1!FBOnA a0:n") << "the scaler's update is the last";
}
TEST(StepEnds, AGanOfFiveToOne) {
  std::string round = times(4, "DGBo") + "DGBoFBp";
  EXPECT_EQ(ends(round + round + "n"), "0DGBo 1DGBo 2DGBo 3DGBo 4DGBoFBp 5DGBo 6DGBo 7DGBo 8DGBo 9!DGBoFBp a0:n");
}
TEST(StepEnds, AnUpdateThatAScalerSkips) { EXPECT_EQ(ends("FBOAFBAn"), "0FBOA 1!FBA a0:n"); }
TEST(StepEnds, AnOptimizerWithAClosureEndsWhenItReturns) {
  EXPECT_EQ(ends("(FBFB)n(FBFB)n"), "0(FBFB)n 1!(FBFB a0:)n");
  EXPECT_EQ(ends("DF<OOO>nDF<OOO>n"), "0DF<OOO>n 1!DF<OOO a0:>n") << "optimizers in a backward pass";
}
TEST(StepEnds, WithoutOptimizersABackwardPassIsTheUpdate) {
  EXPECT_EQ(ends("ZFBnZFBnZFBnn", End::exit, false), "0ZFBn 1ZFBn 2!ZFB a0:nn");
}
TEST(StepEnds, AReplayOfAGraphIsTheUpdate) {
  EXPECT_EQ(ends("FBOZFBOZPnPnPn"), "0FBOZ 1FBOZ 2Pn 3Pn 4!P a0:n");
  EXPECT_EQ(ends("DFBODFBODPDPdn"), "0DFBO 1DFBO 2DP 3DP a0:dn");
}
TEST(StepEnds, WhatIsCapturedIsNoStep) {
  EXPECT_EQ(ends("ZFBOZFBO{ZFBO}PPP"), "0ZFBO 1ZFBO{ZFBO} 2P 3P 4!P");
  EXPECT_EQ(ends("{F}{B}" + times(3, "ZFBO")), "{F}{B} 0ZFBO 1ZFBO 2!ZFBO") << "callables";
}
TEST(StepEnds, ALoaderThatIsDrawnFromInAdvance) {
  EXPECT_EQ(ends("DDFBOnDFBOndFBOnnn"), "0DDFBOn 1DFBOn a0:d 2!FBO a1:nnn");
  EXPECT_EQ(ends("DDFBOdFBOnnnDDFBOdFBO"), "0DDFBO a0:d 1!FBO a1:nnn 2DDFBO a2:d 3!FBO") << "in each epoch";
  EXPECT_EQ(ends("DFBODFBOdFBOnFBOnFBO"), "0DFBO 1DFBO a0:d 2FBOn 3FBOn 4!FBO") << "the loop goes on without it";
}
TEST(StepEnds, GradientsThatAreNeverUsedAreLeftOver) {
  EXPECT_EQ(ends("DFBDFBODFBDFBODFBdn"), "0DFBDFBO 1DFBDFBO l0:DFB a0:dn");
  EXPECT_EQ(ends("DFBDFBODFBdDFBODFBDFBOdn"), "0DFBDFBO 1DFBdDFBO 2DFBDFBO a0:dn") << "the next epoch uses them";
}
TEST(StepEnds, RecordingThatEndsInsideAStepCutsIt) {
  for (End how : {End::killed, End::stopped}) {
    EXPECT_EQ(ends("FBOnFBOnFB", how), "0FBOn 1FBOn 2>FB") << "its update is missing";
    EXPECT_EQ(ends("FBOnFBOnFBOn", how), "0FBOn 1FBOn 2+FBOn");
    EXPECT_EQ(ends("FBOnFBOnFBOnnnn", how), "0FBOn 1FBOn 2!FBO a0:nnnn") << "the loop was over";
    EXPECT_EQ(ends("FBFBopFBFBopFBo", how), "0FBFBop 1FBFBop 2>FBo") << "one of two updates is missing";
  }
  EXPECT_EQ(ends("DFBODFBODF", End::killed), "0DFBO 1DFBO DF");
  EXPECT_EQ(ends("DFBODFBOdnnn", End::killed), "0DFBO 1DFBO a0:dnnn");
}
TEST(StepEnds, AnInferenceEndsWithItsLoader) {
  EXPECT_EQ(ends("DvDvDvdn"), "0Dv 1Dv 2Dv a0:dn");
  EXPECT_EQ(ends("vIvIvI"), "0vI 1vI 2!v a0:I") << "without one, with its call";
  EXPECT_EQ(ends("vIvIvI", End::killed), "0vI 1vI 2+vI");
}
TEST(StepEnds, AStatedRangeEndsItsStep) { EXPECT_EQ(ends("UFBOuUFBOunn"), "0UFBOu 1UFBO a0:unn"); }
TEST(StepEnds, AWindowThatEndsByItsScheduleEndsWithTheNextStep) {
  Game game;
  game.play("FBOnFBOnFBOn");
  Meta meta = meta_of(game, End::exit);
  meta.windows = {{0, WindowState::sealed, 1, 0, 2, 0, 1, meta.steps[2].begin_ticks}};
  meta.steps.pop_back();
  StepEdges edges(meta, false, 0, i64(meta.windows[0].end_ticks), false, [](u64 ticks) { return i64(ticks); });
  ASSERT_EQ(edges.all().size(), 2u);
  EXPECT_EQ(edges.all()[1].end_ns, i64(meta.windows[0].end_ticks));
  EXPECT_EQ(edges.all()[1].cut, StepCut::none);
}
TEST(StepEnds, WhatHasNoUpdateIsNoStepWhereOthersHaveOne) {
  Meta meta;
  auto step = [&](i64 number, u64 begin, u64 end, u32 updates, StepBy by = StepBy::dataloader) {
    meta.steps.push_back({number, by, begin, end, kStepHasWork, 1, updates ? end - 2 : 0, 0, updates});
  };
  step(3, 100, 120, 0);  // recording began in a gap
  step(4, 120, 220, 1);
  step(5, 220, 320, 1);
  step(6, 320, 0, 0);  // the last one may have been cut
  EXPECT_EQ(settled_steps(meta).size(), 3u);
  meta.steps[0].by = StepBy::option;
  EXPECT_EQ(settled_steps(meta).size(), 4u) << "the user said what a step is";
  for (StepInfo& s : meta.steps) s.updates = 0;
  EXPECT_EQ(settled_steps(meta).size(), 4u) << "an older recording says nothing of updates";
}
