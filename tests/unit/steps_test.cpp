// The step detector on token streams of many loops.
#include <gtest/gtest.h>

#include "step_game.h"

using namespace tprof;
using namespace tprof::test;

namespace {

std::string cut(const std::string& tokens, const char* source = "auto") {
  Game game(source);
  game.play(tokens);
  return game.text();
}

// In a program that has made no optimizer.
std::string by_hand(const std::string& tokens) {
  Game game;
  game.d.optimizers_exist(false);
  game.play(tokens);
  return game.text();
}

bool guessed(const std::string& tokens) {
  Game game;
  game.play(tokens);
  return game.d.guessed();
}

// How many batches each evaluation has.
std::vector<u32> evaluated(const std::string& tokens) {
  Game game;
  game.play(tokens);
  std::vector<u32> batches;
  for (const Span& stretch : game.out.stretches) batches.push_back(stretch.batches);
  return batches;
}

bool void_at_end(const std::string& tokens, const char* source = "auto") {
  Game game(source);
  game.play(tokens);
  return game.d.void_at_end();
}

std::string times(int n, const std::string& tokens) {
  std::string out;
  for (int i = 0; i < n; i++) out += tokens;
  return out;
}

}  // namespace

// ---------------------------------------------------------------- training

TEST(Training, ABatchAndAnUpdateEach) {
  EXPECT_EQ(cut("DFBODFBODFBO"), "0DFBO 1DFBO 2DFBO");
  EXPECT_EQ(cut("DZFBODZFBO"), "0DZFBO 1DZFBO");
  EXPECT_EQ(cut("DFBOZDFBOZ"), "0DFBOZ 1DFBOZ") << "cleared behind the update";
}
TEST(Training, AnExhaustedLoaderMakesNoStep) { EXPECT_EQ(cut("DFBODFBOd"), "0DFBO 1DFBOd"); }
TEST(Training, SeveralEpochs) { EXPECT_EQ(cut("DFBODFBOdDFBOdDFBO"), "0DFBO 1DFBOd 2DFBOd 3DFBO"); }
TEST(Training, OpeningTheLoaderBelongsToTheBatchThatFollows) {
  EXPECT_EQ(cut("IDFBODFBOdIDFBO"), "0IDFBO 1DFBOd 2IDFBO");
}
TEST(Training, WithoutALoader) {
  EXPECT_EQ(cut("FBOFBOFBO"), "0FBO 1FBO 2FBO");
  EXPECT_EQ(cut("ZFBOZFBO"), "0ZFBO 1ZFBO");
  EXPECT_EQ(cut("FBOZFBOZ"), "0FBOZ 1FBOZ");
  EXPECT_EQ(cut("FZBOFZBO"), "0FZBO 1FZBO");
}
TEST(Training, WithoutModules) { EXPECT_EQ(cut("BOBOBO"), "0BO 1BO 2BO"); }
TEST(Training, AccumulatedGradients) {
  EXPECT_EQ(cut("DFBDFBODFBDFBO"), "0DFBDFBO 1DFBDFBO");
  EXPECT_EQ(cut("FBFBFBOFBFBFBO"), "0FBFBFBO 1FBFBFBO");
}
TEST(Training, AReplayedGraphIsAllOfAStepWhereNothingElseShowsIt) {
  EXPECT_EQ(cut("DFBODFBODPDPdDP"), "0DFBO 1DFBO 2DP 3DPd 4DP");
  EXPECT_EQ(cut("FBOFBODPDPDP"), "0FBO 1FBO 2DP 3DP 4DP") << "warmed up without batches";
  EXPECT_EQ(cut("DFBODFBODPODPO"), "0DFBO 1DFBO 2DPO 3DPO") << "updated outside of it";
  EXPECT_EQ(cut("DFPBPODFPBPO"), "0DFPBPO 1DFPBPO") << "of parts";
  EXPECT_EQ(cut("DFBOfDPfDPfDP"), "0DFBOf 1DPf 2DPf 3DP") << "single calls between them are no inference";
  EXPECT_EQ(cut("FBOZFBOZPPPvv"), "0FBOZ 1FBOZ 2P 3P 4P e0:vv") << "without batches";
  EXPECT_EQ(cut("FBOZFBOZPOPOPO"), "0FBOZ 1FBOZ 2PO 3PO 4PO");
  EXPECT_EQ(cut("FPBPOFPPBPPO"), "0FPBPO 1FPPBPPO");
}
TEST(Training, UpdatesWithNothingBetweenAreOne) {
  EXPECT_EQ(cut("DFBOODFBOO"), "0DFBOO 1DFBOO");
  EXPECT_EQ(cut("FBOOFBOO"), "0FBOO 1FBOO");
}
TEST(Training, AllUpdatesOnOneBatchAreOneStep) {
  EXPECT_EQ(cut("DFBOGBODFBOGBO"), "0DFBOGBO 1DFBOGBO");
  EXPECT_EQ(cut("DFBOGBOGDFBOGBODFBO"), "0DFBOGBOG 1DFBOGBO 2DFBO") << "a forward for show begins nothing";
}
TEST(Training, ManyUpdatesOnOneBatchAreFoundOutLate) {
  EXPECT_EQ(cut("D" + times(5, "FBO")), "0DFBO 1FBO 2FBO 3FBO 4FBO") << "a loop that draws once";
  EXPECT_TRUE(guessed(times(3, "D" + times(20, "FBO")))) << "too late";
  std::string rare = cut(times(3, "D" + times(20, "FBO")));
  EXPECT_EQ(rare.substr(0, 19), "0DFBO 1FBO 2FBO 3FB");
  EXPECT_NE(rare.find("20DFBO 21FBO"), std::string::npos) << rare;
  EXPECT_EQ(cut(times(3, "DFBOFBOFBOFBOFBO")), "0DFBOFBOFBOFBOFBO 1DFBOFBOFBOFBOFBO 2DFBOFBOFBOFBOFBO");
}
TEST(Training, BatchesForEachUpdateOfACritic) { EXPECT_EQ(cut("DFBODFBODFBODGBO"), "0DFBO 1DFBO 2DFBO 3DGBO"); }
TEST(Training, ABatchOfEachOfTwoLoaders) {
  EXPECT_EQ(cut("DEFBODEFBOd"), "0DEFBO 1DEFBOd");
  EXPECT_EQ(cut("DFEFBODFEFBO"), "0DFEFBO 1DFEFBO") << "the second is drawn later";
  EXPECT_EQ(cut("DEFBODEFBODeIEFBODEFBO"), "0DEFBO 1DEFBO 2DeIEFBO 3DEFBO") << "the second is opened again";
}
TEST(Training, ACycledLoaderGoesOnWithoutDraws) { EXPECT_EQ(cut("DFBODFBOdFBOFBOFBO"), "0DFBO 1DFBOd 2FBO 3FBO 4FBO"); }
TEST(Training, DrawsThatRunAhead) {
  EXPECT_EQ(cut("DDFBODFBOdFBODDFBOdFBO"), "0DDFBO 1DFBOd 2FBO 3DDFBOd 4FBO");
  EXPECT_EQ(cut("DDFBFBODDFBFBO"), "0DDFBFBO 1DDFBFBO") << "all micro-batches first";
  EXPECT_EQ(cut("DdFBODdFBO"), "0DdFBO 1DdFBO") << "one batch an epoch";
  EXPECT_EQ(cut("DDFBOGBODFBOGBOdFBOGBO"), "0DDFBOGBO 1DFBOGBOd 2FBOGBO") << "two updates each";
}
TEST(Training, ScalerThatSkipsUpdates) {
  EXPECT_EQ(cut("DFBOADFBADFBOA"), "0DFBOA 1DFBA 2DFBOA");
  EXPECT_EQ(cut("FBOAFBAFBOA"), "0FBOA 1FBA 2FBOA");
}
TEST(Training, Closures) {
  EXPECT_EQ(cut("D(FBFB)D(FBFB)"), "0D(FBFB) 1D(FBFB)");
  EXPECT_EQ(cut("(FBFB)(FBFB)(FB)"), "0(FBFB) 1(FBFB) 2(FB)");
  EXPECT_EQ(cut("DFBD(FB)DFBD(FB)"), "0DFBD(FB) 1DFBD(FB)");
}
TEST(Training, OptimizersInsideABackwardPass) { EXPECT_EQ(cut("DF<OOO>DF<OOO>"), "0DF<OOO> 1DF<OOO>"); }
TEST(Training, AForwardThatIsThrownAwayBelongsToTheStepThatFollows) {
  EXPECT_EQ(cut("FBOFFBOFBO"), "0FBO 1FFBO 2FBO");
  EXPECT_EQ(cut("FFFBOFFFBO"), "0FFFBO 1FFFBO");
}
TEST(Training, ForwardsBehindTheLoopAreNoStep) {
  EXPECT_EQ(cut("DFBODFBOdF"), "0DFBO 1DFBOd F");
  EXPECT_EQ(cut("FBOFBOF"), "0FBO 1FBO F");
}
TEST(Training, ABackwardPassBehindTheLastUpdateMakesNoStepOfTheEnd) {
  for (const char* loop : {"FBOFBOFB", "DFBODFBODFB", "DFBDFBODFBDFBODFB", "FBOFBOvvB"})
    EXPECT_TRUE(void_at_end(loop)) << loop;
  for (const char* loop : {"FBOFBO", "DFBODFBOd", "FBOFBOvv", "FB", "DFB", "UBuUBu", "SFBSFB"})
    EXPECT_FALSE(void_at_end(loop)) << loop;
  EXPECT_TRUE(void_at_end("DFBOD")) << "a batch that is not used";
  EXPECT_FALSE(void_at_end("FBOFB", "backward:1")) << "the user said what a step is";
  EXPECT_FALSE(void_at_end(times(80, "FB"))) << "updates are not seen";
}
TEST(Training, SetupBelongsToNone) {
  EXPECT_EQ(cut("FZDFBODFBO"), "FZ 0DFBO 1DFBO");
  EXPECT_EQ(cut("EEEeDFBODFBO"), "EEEe 0DFBO 1DFBO") << "a loader that is read for statistics";
  EXPECT_EQ(cut("DFBOEEEeDFBO"), "0DFBOEEEe 1DFBO");
}
TEST(Training, ModelsInTurnWithoutALoaderMakeAStepTogetherWhichIsAGuess) {
  EXPECT_EQ(cut("FBOGBOFBOGBO"), "0FBOGBO 1FBOGBO");
  EXPECT_EQ(cut(times(4, "FBOGBO") + "FBO"), "0FBOGBO 1FBOGBO 2FBOGBO 3FBOGBO 4FBO");
  EXPECT_EQ(cut(times(4, "FBOGFBOBO")), "0FBOGFBOBO 1FBOGFBOBO 2FBOGFBOBO 3FBOGFBOBO") << "the third calls no model";
  EXPECT_EQ(cut(times(2, "FBOGBO") + "vvv" + times(2, "FBOGBO")), "0FBOGBO 1FBOGBO e0:vvv 2FBOGBO 3FBOGBO");
  EXPECT_EQ(cut(times(2, "FBOGBO") + "FBOffGBOFBOvvGBO"), "0FBOGBO 1FBOGBO 2FBOffGBO 3FBO[e0:vv]GBO") << "calls inside";
  EXPECT_EQ(cut("FBOFBO" + times(3, "FBOGBO")), "0FBO 1FBO 2FBOGBO 3FBOGBO 4FBOGBO") << "the first learns alone before";
  EXPECT_EQ(cut(times(2, "FBOGBO") + "FBOFBO"), "0FBOGBO 1FBOGBO 2FBO 3FBO") << "out of turn";
  EXPECT_EQ(cut("FBOGBOFBO" + times(3, "HBO")), "0FBOGBO 1FBO 2HBO 3HBO 4HBO") << "something else follows";
  for (const char* loop : {"FBOGBOFBOGBO", "HFBOHFBOHGBOHFBO", "FBOGFBOBOFBO", "FBOFBOFBOFBOFBOGBOFBO"})
    EXPECT_TRUE(guessed(loop)) << loop;
  EXPECT_FALSE(guessed("FBOFBOGBOGBO")) << "one after the other";
  EXPECT_FALSE(guessed("DFBOGBODFBOGBO"));
}
TEST(Training, OptimizersInTurnWithoutALoader) {
  EXPECT_EQ(cut(times(3, "FfGZBoFGZBp")), "0FfGZBoFGZBp 1FfGZBoFGZBp 2FfGZBoFGZBp") << "of the same modules";
  EXPECT_EQ(cut(times(2, "GHZBoGHZBoFGZBp")), "0GHZBo 1GHZBoFGZBp 2GHZBo 3GHZBoFGZBp") << "the actor is delayed";
  EXPECT_EQ(cut(times(2, "GZBoGZBo" + times(2, "FZBpZBq"))), "0GZBo 1GZBoFZBpZBqFZBpZBq 2GZBo 3GZBoFZBpZBqFZBpZBq");
  EXPECT_EQ(cut(times(3, "FGNNFZBoZBpZBq")), "0FGNNFZBoZBpZBq 1FGNNFZBoZBpZBq 2FGNNFZBoZBpZBq") << "losses first";
  EXPECT_EQ(cut(times(2, times(2, "FBo") + times(2, "GBp"))), "0FBo 1FBo 2GBp 3GBp 4FBo 5FBo 6GBp 7GBp") << "by phases";
  EXPECT_EQ(cut("FBoFBoGBpGBp"), "0FBo 1FBo 2GBp 3GBp") << "one after the other";
  EXPECT_FALSE(guessed("FBoFBoGBpGBpFBoFBo"));
  EXPECT_TRUE(guessed("FBoFBpFBoFBp"));
  EXPECT_FALSE(guessed("FBoGBoFBoGBo")) << "of all models";
  EXPECT_EQ(cut("FBoGBpFBoGBpFBoHBqHBq"), "0FBoGBp 1FBoGBp 2FBo 3HBq 4HBq") << "something else follows";
}
TEST(Training, ObjectivesOfOneForwardPassMakeAStepTogether) {
  EXPECT_EQ(cut(times(3, "FBoBp")), "0FBoBp 1FBoBp 2FBoBp");
  EXPECT_EQ(cut(times(3, "FGNNZBoZBpZBq")), "0FGNNZBoZBpZBq 1FGNNZBoZBpZBq 2FGNNZBoZBpZBq");
  EXPECT_EQ(cut(times(3, "FFBOBO")), "0FFBOBO 1FFBOBO 2FFBOBO") << "of one optimizer";
  EXPECT_EQ(cut(times(3, "FBoNBp")), "0FBoNBp 1FBoNBp 2FBoNBp") << "a loss that is a module";
  EXPECT_EQ(cut("FBOvvFBOBO"), "0FBO e0:vv 1FBOBO");
  EXPECT_EQ(cut("FBOBOvvFBOBO"), "0FBOBO e0:vv 1FBOBO");
  for (const char* loop : {"FBoBp", "FGNNZBoZBpZBq", "FFBOBO"}) EXPECT_FALSE(guessed(times(9, loop))) << loop;
  EXPECT_TRUE(guessed(times(3, "FBoFBp"))) << "perhaps each is a step";
  EXPECT_EQ(cut("FBOBFBO"), "0FBO 1BFBO") << "gradients that are accumulated";
  EXPECT_TRUE(void_at_end("FBOFBOB"));
  EXPECT_EQ(cut("FBOFBO(FB)(FB)"), "0FBO 1FBO 2(FB) 3(FB)") << "a closure calls the model again";
  EXPECT_EQ(cut("FBO" + times(9, "Bo")), "0FBO 1Bo 2Bo 3Bo 4Bo 5Bo 6Bo 7Bo 8Bo 9Bo") << "a loop that calls no model";
  EXPECT_EQ(cut("FBOvvBoBo"), "0FBO e0:vv 1Bo 2Bo");
}
TEST(Training, TheOptimizerIsOnlyAskedForWhereModelsMayBeUpdatedInTurn) {
  auto wanted = [](const std::string& tokens) {
    Game game;
    game.play(tokens);
    return game.d.wants_optimizer();
  };
  EXPECT_TRUE(wanted("FB"));
  EXPECT_TRUE(wanted(times(100, "FBoGBp")));
  EXPECT_FALSE(wanted("DFB")) << "all updates on a batch are one step";
  EXPECT_FALSE(wanted(times(100, "FBo"))) << "there is one";
  EXPECT_FALSE(guessed(times(64, "FBo") + times(9, "WFBOFBO"))) << "nor taken for another if it is not known";
  EXPECT_TRUE(wanted(times(105, "FBo"))) << "now and then, since the others may call the same modules";
}
TEST(Training, AnEvaluationWithGradientsDoesNotTellModelsApart) {
  EXPECT_EQ(cut(times(3, "WWZFBOZFBO")), "e0:WW 0ZFBO 1ZFBO 2WWZFBO 3ZFBO 4WWZFBO 5ZFBO");
}
TEST(Training, ModulesThatAreMadeAnewForEachStepAreNoModelsInTurn) {
  for (const char* loop : {"MBO", "ZMBO"}) {
    EXPECT_EQ(cut(times(3, loop)), "0" + std::string(loop) + " 1" + loop + " 2" + loop);
    EXPECT_FALSE(guessed(times(20, loop))) << loop;
  }
}
TEST(Training, BatchesOfWhichSomeTrainAnotherModelTooAreAGuess) {
  EXPECT_TRUE(guessed(times(3, "DFBODFBODFBOGBO")));
  EXPECT_EQ(cut(times(2, "DFBODFBOGBO")), "0DFBO 1DFBOGBO 2DFBO 3DFBOGBO");
  EXPECT_FALSE(guessed(times(3, "DFBO") + times(5, "DFBOGBO"))) << "the second model comes later";
  EXPECT_FALSE(guessed(times(3, "DFBODFBOFBO"))) << "one model";
}
TEST(Training, AnUpdateBeforeAnyBackwardPassIsNone) {
  EXPECT_EQ(cut("ODFBODFBO"), "O 0DFBO 1DFBO");
  EXPECT_EQ(cut("OOOvOOZFBOZFBO"), "OOO e0:vOO 0ZFBO 1ZFBO") << "a plot of learning rates";
  EXPECT_EQ(cut("NOONOOZFBOZFBO"), "NOONOO 0ZFBO 1ZFBO");
  EXPECT_EQ(cut("NVVOOZFBOZFBO"), "NVVOO 0ZFBO 1ZFBO") << "behind an inference with gradients";
  EXPECT_EQ(cut("ZfOZfO"), "0ZfO 1ZfO") << "gradients that the program makes itself";
}
TEST(Training, AnUpdateOfClearedGradientsBeforeTheLoopIsNone) {
  EXPECT_EQ(cut("ZODFBOZDFBOZ"), "ZO 0DFBOZ 1DFBOZ");
  EXPECT_EQ(cut("ZOZOZO"), "ZO 0ZO 1ZO") << "gradients that the program makes itself";
}
TEST(Training, ACallWithoutUseAfterSeveralUpdatesOnTheFirstBatch) {
  EXPECT_EQ(cut("DFBOFBOFBOFFFDFBOFBOFBOd"), "0DFBOFBOFBOFFF 1DFBOFBOFBOd");
}
TEST(Training, ManyBackwardPassesBeforeTheFirstUpdate) {
  EXPECT_EQ(cut(times(2, times(128, "DFB") + "OZ")), "0" + times(128, "DFB") + "OZ 1" + times(128, "DFB") + "OZ");
  EXPECT_EQ(cut(times(2, times(32, "DZFB") + "O")), "0" + times(32, "DZFB") + "O 1" + times(32, "DZFB") + "O");
}
TEST(Training, BackwardPassesThatAreThrownAwayBelongToTheUpdate) {
  std::string attack = times(4, "ZFB");
  EXPECT_EQ(cut(times(3, "D" + attack + "ZFBO")), "0D" + attack + "ZFBO 1D" + attack + "ZFBO 2D" + attack + "ZFBO");
  EXPECT_EQ(cut(times(3, attack + "ZFBO")), "0" + attack + "ZFBO 1" + attack + "ZFBO 2" + attack + "ZFBO");
  std::string learning = times(4, "DZFB");
  EXPECT_EQ(cut(times(3, learning + "ZBO")), "0" + learning + "ZBO 1" + learning + "ZBO 2" + learning + "ZBO");
}

// ---------------------------------------------------------------- evaluation

TEST(Evaluation, BetweenEpochs) {
  EXPECT_EQ(cut("DFBODFBOdEvEveDFBOdEvEve"), "0DFBO 1DFBOd e0:EvEve 2DFBOd e1:EvEve");
  EXPECT_EQ(cut("DFBOdIEvEveIDFBO"), "0DFBOd e0:IEvEve 1IDFBO");
}
TEST(Evaluation, TheNextEpochIsRecordedFromItsFirstBatchOn) {
  for (const char* loop : {"DFBODFBOdDvDvdD", "DFBODFBOdIDvDvID"}) {  // its iterator stands where the other one did
    Game game;
    game.play(loop);
    EXPECT_TRUE(game.d.tentative()) << loop;
  }
}
TEST(Evaluation, OverTheLoaderOfTheTraining) { EXPECT_EQ(cut("DFBODFBOdDvDvdDFBO"), "0DFBO 1DFBOd e0:DvDvd 2DFBO"); }
TEST(Evaluation, InMidEpoch) { EXPECT_EQ(cut("DFBOEvEveDFBO"), "0DFBO e0:EvEve 1DFBO"); }
TEST(Evaluation, AfterABatchThatWasDrawnAhead) {
  EXPECT_EQ(cut("IDDFBODFBOIEvEveDFBOdFBO"), "0IDDFBO 1DFBO e0:IEvEve 2DFBOd 3FBO");
  EXPECT_EQ(cut("IDDFBODIEvEveFBOdFBO"), "0IDDFBO 1D[e0:IEvEve]FBOd 2FBO");
}
TEST(Evaluation, AfterABatchIsDrawnAndBeforeItIsUsed) {
  EXPECT_EQ(cut("DFBODIEvEveFBODFBOd"), "0DFBO 1D[e0:IEvEve]FBO 2DFBOd");
  EXPECT_EQ(cut("DFBODIEvEvEFBODFBOd"), "0DFBO 1D[e0:IEvEvE]FBO 2DFBOd") << "left in the middle";
  EXPECT_EQ(cut("DFBODIEvEveZFBODIEvEveZFBO"), "0DFBO 1D[e0:IEvEve]ZFBO 2D[e1:IEvEve]ZFBO");
  EXPECT_EQ(cut("DFBODIEfEfeZFBODFBOd"), "0DFBO 1D[e0:IEfEfe]ZFBO 2DFBOd") << "in training mode";
  EXPECT_EQ(cut("DFBODIEvEveDFBO"), "0DFBO 1D[e0:IEvEve]DFBO") << "and never used";
}
TEST(Evaluation, WithGradientsOn) {
  EXPECT_EQ(cut("DFBOdEVEVeDFBO"), "0DFBOd e0:EVEVe 1DFBO");
  EXPECT_EQ(cut("DFBOdEFEFeDFBO"), "0DFBOd e0:EFEFe 1DFBO");
}
TEST(Evaluation, WithBackwardPassesInEvalMode) {
  EXPECT_EQ(cut("DFBODFBOdEVBEVBeDFBO"), "0DFBO 1DFBOd e0:EVBEVBe 2DFBO") << "attacks, forces";
  EXPECT_EQ(cut("DFBODFBOdIDZVBDZVBd"), "0DFBO 1DFBOd e0:IDZVBDZVBd") << "over the loader of the training";
  EXPECT_EQ(cut("DFBODVVBVVBFBODVVBVVBFBO"), "0DFBO 1DVVBVVBFBO 2DVVBVVBFBO") << "an attack belongs to its step";
  EXPECT_EQ(cut("DVBODVBDVBODVBDVBO"), "0DVBO 1DVBDVBO 2DVBDVBO") << "fine-tuned in eval mode";
}
TEST(Evaluation, OfOneBatchByHand) { EXPECT_EQ(cut("DFBOEvDFBODFBO"), "0DFBO e0:Ev 1DFBO 2DFBO"); }
TEST(Evaluation, WithoutALoader) {
  EXPECT_EQ(cut("FBOFBOvvvFBO"), "0FBO 1FBO e0:vvv 2FBO");
  EXPECT_EQ(cut("ZFBOvvvZFBO"), "0ZFBO e0:vvv 1ZFBO");
  EXPECT_EQ(cut("FBOVVFBO"), "0FBO e0:VV 1FBO");
  EXPECT_EQ(cut("FNBOFNBOVNVNVNFNBO"), "0FNBO 1FNBO e0:VNVNVN 2FNBO") << "with a loss that is a module";
}
TEST(Evaluation, BeforeTheTraining) {
  EXPECT_EQ(cut("EvEveDFBODFBO"), "e0:EvEve 0DFBO 1DFBO");
  EXPECT_EQ(cut("vvvvvFBFBOvvvFBFBO"), "e0:vvvvv 0FBFBO e1:vvv 1FBFBO");
}
TEST(Evaluation, BehindTheTraining) { EXPECT_EQ(cut("DFBOdEvEve"), "0DFBOd e0:EvEve"); }
TEST(Evaluation, ItsLastBatchCountsWhereItsLoaderIsNotDrawnFromAgain) {
  using Batches = std::vector<u32>;
  EXPECT_EQ(evaluated("DFBODFBOIEvEvEvIDFBODFBOIEvEvEv."), (Batches{3, 3})) << "as Lightning";
  EXPECT_EQ(evaluated("DFBOIEvIDFBOIEv."), (Batches{1, 1}));
  EXPECT_EQ(evaluated("DFBODFBODFBEvEv."), (Batches{2})) << "inside a step";
  EXPECT_EQ(evaluated("DDFBOdFBOEEvEvv."), (Batches{3})) << "its draws run ahead";
  EXPECT_EQ(evaluated("DFBOdEvEve."), (Batches{2})) << "nothing is left to count";
  EXPECT_EQ(evaluated("DFBOdEvEvE."), (Batches{2})) << "a batch that is not used";
  EXPECT_EQ(cut("DFBODFBOIEv."), "0DFBO 1DFBO e0:IEv.");
  EXPECT_EQ(cut("DFBODFBODF."), "0DFBO 1DFBO DF.") << "a step that is not complete";
  EXPECT_EQ(cut("DvDv."), "0Dv 1Dv.");
}
TEST(Evaluation, OfAModelThatNeverTrains) { EXPECT_EQ(cut("DFBOdEwEweDFBO"), "0DFBOd e0:EwEwe 1DFBO"); }
TEST(Evaluation, WhoseDrawsRunAhead) { EXPECT_EQ(cut("DDFBOdFBOEEvEvevDDFBO"), "0DDFBOd 1FBO e0:EEvEvev 2DDFBO"); }
TEST(Evaluation, InsideAStep) {
  EXPECT_EQ(cut("DFBODFBEvEveDFBODFBO"), "0DFBO 1DFB[e0:EvEve]DFBO 2DFBO");
  EXPECT_EQ(cut("FBOFBvvFBO"), "0FBO 1FB[e0:vv]FBO");
}
TEST(Evaluation, ForwardsWithoutGradientsOnABatchOfTheTrainingBelongToItsStep) {
  EXPECT_EQ(cut("DfFBODfFBO"), "0DfFBO 1DfFBO");
  EXPECT_EQ(cut("DFBODvFBODvFBO"), "0DFBO 1DvFBO 2DvFBO") << "pseudo labels";
}
TEST(Evaluation, ModulesThatNeverTrainBelongToTheStep) {
  EXPECT_EQ(cut("FBOwFBOwwwFBO"), "0FBOw 1FBOwww 2FBO");
  EXPECT_EQ(cut("DFBOwwwDFBO"), "0DFBOwww 1DFBO");
}
TEST(Evaluation, ABackwardPassShowsThatItWasNone) {
  EXPECT_EQ(cut("FBOVBVBFBO"), "0FBO 1VBVBFBO") << "attacks on the model in eval mode";
}
TEST(Evaluation, ARolloutIsInference) {
  EXPECT_EQ(cut("FBOfffFBOFBO"), "0FBO i0:fff 1FBO 2FBO");
  EXPECT_EQ(cut("FBOfFBO"), "0FBOf 1FBO") << "one call is the step's";
  EXPECT_EQ(cut("ffffFBOFBOfffFBO"), "i0:ffff 0FBO 1FBO i1:fff 2FBO");
}

// ---------------------------------------------------------------- training without an optimizer

TEST(ByHand, GradientsClearedOnce) {
  EXPECT_EQ(by_hand("ZFBZFBZFB"), "0ZFB 1ZFB 2ZFB");
  EXPECT_EQ(by_hand("FZBFZBFZB"), "0FZB 1FZB 2FZB");
  EXPECT_EQ(by_hand("FBZFBZFBZ"), "0FBZ 1FBZ 2FBZ");
  EXPECT_EQ(by_hand("FZBFBFZBFBFZBFB"), "0FZBFB 1FZBFB 2FZBFB") << "two losses";
}
TEST(ByHand, Batches) { EXPECT_EQ(by_hand("DFBDFBd"), "0DFB 1DFBd"); }
TEST(ByHand, NothingCleared) {
  EXPECT_EQ(by_hand("FBFBFB"), "0FB 1FB 2FB");
  EXPECT_EQ(by_hand("BBB"), "0B 1B 2B");
}
TEST(ByHand, GradientsOfGradients) {
  EXPECT_EQ(by_hand("FbBFbBFbB"), "0FbB 1FbB 2FbB") << "a penalty";
  EXPECT_EQ(by_hand("FFbBFFbBFFbB"), "0FFbB 1FFbB 2FFbB");
  EXPECT_EQ(by_hand("FbbBFbbBFbbB"), "0FbbB 1FbbB 2FbbB") << "a differential equation";
  EXPECT_EQ(by_hand("FBBFBBFBB"), "0FBB 1FBB 2FBB") << "two losses of one call";
  EXPECT_EQ(by_hand("bBbBbB"), "0bB 1bB 2bB") << "without modules";
  EXPECT_EQ(by_hand("bbBbbBbbBbb"), "0bbB 1bbB 2bbB 3bb");
  EXPECT_EQ(by_hand("DbBDFbBDbBd"), "0DbB 1DFbB 2DbBd") << "of a batch";
  EXPECT_EQ(by_hand("ZbBZbB"), "0ZbB 1ZbB");
  EXPECT_EQ(cut(times(3, "FbFbFBO")), "0FbFbFBO 1FbFbFBO 2FbFbFBO") << "an optimizer learns to learn";
}
TEST(ByHand, FunctionsThatAlwaysGiveGradientsAGraph) {
  EXPECT_EQ(by_hand("bbbb"), "0b 1b 2b 3b");
  EXPECT_EQ(by_hand("FbFbFb"), "0Fb 1Fb 2Fb");
  EXPECT_EQ(by_hand("DFbDFbd"), "0DFb 1DFbd");
  EXPECT_EQ(by_hand("bB" + times(66, "b")).substr(0, 3), "0bB");
  EXPECT_EQ(by_hand(times(20, "b") + "BB").substr(0, 8), "0b 1b 2b") << "too many for one step";
}
TEST(ByHand, Evaluations) { EXPECT_EQ(by_hand("ZFBZFBvvvZFB"), "0ZFB 1ZFB e0:vvv 2ZFB"); }
TEST(ByHand, OptimizersThatCannotBeSeen) {
  EXPECT_EQ(cut(times(6, "DZFB")), "0DZFB 1DZFB 2DZFB 3DZFB 4DZFB 5DZFB");
  EXPECT_EQ(cut(times(6, "ZFB")), "0ZFB 1ZFB 2ZFB 3ZFB 4ZFB 5ZFB");
}
TEST(ByHand, AnOptimizerComesLater) { EXPECT_EQ(by_hand("ZFBZFBZFBOZFBO"), "0ZFB 1ZFB 2ZFBO 3ZFBO"); }

// ---------------------------------------------------------------- inference

TEST(Inference, ABatchEach) {
  EXPECT_EQ(cut("DvDvDvd"), "0Dv 1Dv 2Dvd");
  EXPECT_EQ(cut("DvvDvvd"), "0Dvv 1Dvvd");
  EXPECT_EQ(cut("DDDd"), "DDDd") << "a draw alone is no step";
  EXPECT_EQ(cut("DvDvdEvEve"), "0Dv 1Dvd 2Ev 3Eve");
  EXPECT_EQ(cut("DEvDEvde"), "0DEv 1DEvde");
  EXPECT_EQ(cut("DDvDvdv"), "0DDv 1Dvd 2v") << "draws that run ahead";
}
TEST(Inference, ACallEach) {
  EXPECT_EQ(cut("vvvv"), "0v 1v 2v 3v");
  EXPECT_EQ(cut("vwvwvw"), "0vw 1vw 2vw");
  EXPECT_EQ(cut("nvnvnv"), "0nvn 1vn 2v") << "the module with parameters leads";
  EXPECT_EQ(cut("nnn"), "0n 1n 2n");
}
TEST(Inference, AnotherModuleTakesOver) {
  EXPECT_EQ(cut("v" + times(9, "w")), "0v 1w 2w 3w 4w 5w 6w 7w 8w 9w");
  EXPECT_TRUE(guessed("v" + times(9, "w")));
  EXPECT_FALSE(guessed(times(9, "vww")));
}
TEST(Inference, ForwardsInTrainingModeOnly) {
  Game game;
  game.d.optimizers_exist(false);
  game.play(times(12, "F"));
  EXPECT_EQ(game.text(), "0F 1F 2F 3F 4F 5F 6F 7F 8F 9F 10F 11F");
}
TEST(Inference, WarmUpBeforeTheLoader) { EXPECT_EQ(cut("vDvDvd"), "v 0Dv 1Dvd"); }

// ---------------------------------------------------------------- stated

TEST(Stated, ProfilerStepOfTheScriptWins) {
  EXPECT_EQ(cut("UDFBOuUDFBOuUDFBOuUu"), "0UDFBOu 1UDFBOu 2UDFBOu Uu") << "what follows the last prof.step() is none";
  EXPECT_EQ(cut("UuUuUuUu"), "0Uu 1Uu 2Uu Uu") << "in plain tensor loops";
  EXPECT_EQ(cut("UDFBOuUDFBOuDFBODFBO"), "0UDFBOu 1UDFBOu 2DFBO 3DFBO")
      << "automatic again behind the script's profiler";
}
TEST(Stated, ApiStepEndsAStep) {
  EXPECT_EQ(cut("DFBOSDFBOSDFBOS"), "0DFBO 1SDFBO 2SDFBO S");
  EXPECT_EQ(cut("FBOSFBOSFBOS"), "0FBO 1SFBO 2SFBO S");
  Game game;
  game.play("SSS");
  EXPECT_EQ(game.out.steps.size(), 4u) << "the first began with the process, the last is none yet";
}
TEST(Stated, Optimizer) {
  EXPECT_EQ(cut("DFBOFBODFBOFBO", "optimizer"), "D 0FBO 1FBOD 2FBO 3FBO");
  EXPECT_EQ(cut("FBOOFBOOF", "optimizer"), "0FBOO 1FBOO F") << "two optimizers at once, and a forward behind the loop";
}
TEST(Stated, Dataloader) { EXPECT_EQ(cut("DFBDFBODFBd", "dataloader"), "0DFB 1DFBO 2DFBd"); }
TEST(Stated, Backward) {
  EXPECT_EQ(cut("FBOFBOFBOFBOF", "backward:2"), "F 0BOFBO 1FBOFBO F");
  EXPECT_EQ(cut("BBBB", "backward:2"), "0BB 1BB");
}
TEST(Stated, Range) { EXPECT_EQ(cut("RDFBORDFBO", "range:x"), "0RDFBO 1RDFBO"); }

// ---------------------------------------------------------------- labels

TEST(Labels, StayWhole) {
  Game game;
  game.play("DFBO");
  u64 open[] = {5, 45};  // a label around the loop, one around what comes next
  EXPECT_EQ(game.d.before_labels(50, open, 2), 45u);
  open[1] = 35;
  EXPECT_EQ(game.d.before_labels(50, open, 2), 50u) << "one that holds some of the step before";
}

TEST(Stated, AStepIsNotMovedByABatchThatFollows) { EXPECT_EQ(cut("IUuDfDf"), "I 0Uu 1Df 2Df"); }

// ---------------------------------------------------------------- streams without sense

// Found by tests/fuzz/steps.cpp and by random loops: what the line of steps is told has to make sense all the same.
TEST(AnyStream, KeepsToTheRulesOfTheLine) {
  struct {
    const char *tokens, *source;
    bool optimizers;
  } const cases[] = {
      {"IUueI", "auto", true},                        // a loader opened before a stated edge
      {"DDuWNdA<dg)", "optimizer", true},             // an update in an evaluation, before any backward pass
      {"Z<g(o<RUDeHE>uOef", "auto", true},            // a stated edge inside an optimizer
      {"dZgePGNpvofPengwDeneVnOqGMA", "auto", true},  // quiet calls before batches that are evaluated
      {"MWowDEIWegWpgIAodZG", "auto", false},         // quiet calls before a step
      {"GDNoWDEneHOp", "auto", true},                 // a batch set aside while a stretch is open
      {"SgVUFO<onfuX>", "optimizer", true},           // tokens missed inside a backward pass that updates
      {"FwepfdF", "auto", true},                      // quiet calls before the first batch
      // an update between a call in eval mode and its backward pass
      {"w)DBGw)DBGw)DBGvfDfvfDfGGGGGG>DHDHDHDHDHDHE<qFE<qFnVHRwIwEdeVEdeVEdeVEdeVEdeVnZpBVnZpBVnZpBVnZpBV", "auto",
       true},
      // steps that were split, and then counted again with those before them
      {"fIfIfIfIwFVMDZBFwFVMDZBFwFVMDZBFwFVMDZBFBIBIBIHqHqeoeoeoeoeoEEEEZPvZP", "auto", true},
      // a replay between a loader and its batch
      {"DDDDDDMIGMIGMIGMIGMIGMIGwAHFwBwAHFwBwAHFwBAAAvIvIPDo", "auto", true},
  };
  for (const auto& c : cases) {
    Game game(c.source);
    if (!c.optimizers) game.d.optimizers_exist(false);
    game.play(c.tokens);
    EXPECT_EQ(game.out.broken, "") << c.tokens;
  }
}
