// How findings are graded, sorted and worded, and where rules must stay silent.
#include <gtest/gtest.h>

#include "advised.h"

namespace tprof {
namespace {

TEST(Advice, AnIdleGpuBeforeItsFirstWorkWaitsForTheHost) {
  ModelBuilder b;
  b.step(0, kStep);
  b.op("aten::prepare", 0, 7000);
  b.launch("gemm", 7000, 7000, kStep);
  Advised found(std::move(b));
  EXPECT_EQ(found.find("UT1"), nullptr);  // neither is a cost of each step that a larger batch would spread
  EXPECT_EQ(found.find("HB1"), nullptr);
}

TEST(Advice, NamesShareSavingAndPlaces) {
  ModelBuilder b;
  b.step(0, kStep);
  b.step(kStep, 2 * kStep);
  u32 longest = b.label(kSingleLoader, 100, 4100);
  b.label(kSingleLoader, kStep + 100, kStep + 2100);
  b.op("aten::relu", 4100, kStep);
  b.op("aten::relu", kStep + 2100, 2 * kStep);
  Advised a(std::move(b));
  ASSERT_EQ(a.advice.size(), 1u);
  const Match& match = a.advice[0].match;
  EXPECT_EQ(a.advice[0].grade, Grade::high);
  EXPECT_NEAR(match.share, 0.30, 1e-9);
  EXPECT_NEAR(match.saving_ns, 3e6, 1);
  EXPECT_NE(match.what.find("30.0 %"), std::string::npos) << match.what;
  ASSERT_EQ(match.evidence.size(), 2u);
  EXPECT_EQ(place_of(a.model, match.evidence[0]).dur_ns, 4'000'000) << longest;
}

TEST(Advice, LargestSavingComesFirst) {
  ModelBuilder b;
  b.step(0, kStep);
  b.label(kLoader, 0, 3000);
  b.launch("gemm", 3000, 3010, 5000);
  b.copy(1, 1, 1000, 5000, 7000);
  b.device(0, 8, 0, 1000);
  b.memory(1, 1, 950, 950);
  Advised a(std::move(b));
  ASSERT_GE(a.advice.size(), 3u);
  EXPECT_STREQ(a.advice[0].rule->id, "DL1");
  for (size_t i = 1; i < a.advice.size(); i++)
    EXPECT_GE(std::max(a.advice[i - 1].match.saving_ns, 0.0), std::max(a.advice[i].match.saving_ns, 0.0));
}

TEST(Advice, WhatWouldSaveNothingIsMinorAndStandsLast) {
  ModelBuilder b;
  b.step(0, kStep);
  b.kernel("gemm", 0, kStep - 20);
  b.copy(1, 2, 8, kStep - 20, kStep);
  b.label(kSingleLoader, 0, 3000);  // hidden behind the kernel
  Advised a(std::move(b));
  ASSERT_FALSE(a.advice.empty());
  const Advice* hidden = a.find("DL2");
  ASSERT_NE(hidden, nullptr);
  EXPECT_TRUE(hidden->minor);
  EXPECT_EQ(hidden, &a.advice.back());
  EXPECT_EQ(count_to_show(a.advice, kMaxAdvice), a.advice.size() - 1);
}

TEST(Advice, ThatSavesLittleIsNotHigh) {
  auto communicates = [](i64 exposed_us) {
    ModelBuilder b;
    b.step(0, kStep);
    b.kernel("gemm", 0, kStep - exposed_us);
    b.kernel("ncclDevKernel_AllReduce", 2000, kStep, kNone, 20);
    return b;
  };
  Advised hidden(communicates(200)), seen(communicates(1200));
  ASSERT_NE(hidden.find("CM1"), nullptr);
  EXPECT_EQ(hidden.find("CM1")->grade, Grade::moderate);  // 80 % of the step, and half of 2 % to be saved
  ASSERT_NE(seen.find("CM1"), nullptr);
  EXPECT_EQ(seen.find("CM1")->grade, Grade::high);
}

TEST(Advice, IsNotGivenFromPartOfATrace) {
  for (bool excerpt : {false, true}) {
    ModelBuilder b;
    b.step(0, kStep);
    b.label(kLoader, 0, 5000);
    for (u32 i = 0; i < 120; i++) {
      u32 call = b.call("cudaLaunchKernel", 5000 + i * 10, 5002 + i * 10);
      if (excerpt) b.raw().calls[call].correlation = 100 * i + 1;
      b.kernel("gemm", 5005 + i * 10, 5010 + i * 10, call);
    }
    Advised a(std::move(b));
    EXPECT_EQ(a.advice.empty(), excerpt);
    EXPECT_EQ(a.facts.is_excerpt, excerpt);
  }
}

TEST(Advice, AnExchangeBetweenPairsIsNoneOfGradients) {
  for (const char* op : {"nccl:all_reduce", "nccl:all_to_all"}) {
    ModelBuilder b;
    b.step(0, kStep);
    b.range("MmBackward0", 1, 2, Scope::backward);
    b.kernel("gemm", 0, 5000);
    b.op(op, 100, 200);
    b.launch("ncclDevKernel_Generic", 110, 5000, kStep);
    Advised a(std::move(b));
    bool reduces = std::string(op) == "nccl:all_reduce";
    EXPECT_EQ(a.find("CM1") != nullptr, reduces) << op;
    ASSERT_NE(a.find("CM2"), nullptr) << op;
    EXPECT_EQ(a.find("CM2")->fix().find("DDP") != std::string::npos, reduces) << op;
  }
}

TEST(Advice, CommunicationIsHiddenBehindNoMoreThanThereIs) {
  ModelBuilder b;
  b.step(0, kStep);
  b.kernel("gemm", 0, 1000);
  b.kernel("ncclDevKernel_AllReduce", 1000, 9000, kNone, 20);
  Advised a(std::move(b));
  ASSERT_NE(a.find("CM2"), nullptr);
  EXPECT_NEAR(a.find("CM2")->match.saving_ns, 1e6, 1);
}

TEST(Advice, ACollectiveMuchSlowerThanItsLikeWaitsForOthers) {
  for (u32 rows : {64, 32}) {  // of a larger one nothing is told by a smaller one
    ModelBuilder b;
    b.step(0, kStep);
    b.kernel("gemm", 0, 2000);
    b.op("nccl:all_to_all", 100, 200, {{{rows, 64}}});
    b.launch("ncclDevKernel_SendRecv", 110, 2000, 2100);
    b.op("nccl:all_to_all", 300, 400, {{{64, 64}}});
    b.launch("ncclDevKernel_SendRecv", 310, 3000, kStep);
    Advised a(std::move(b));
    EXPECT_EQ(a.find("RK1") != nullptr, rows == 64);
    EXPECT_EQ(a.find("CM2") != nullptr, rows == 32);  // what waits cannot be hidden
  }
}

TEST(Advice, WhatTheProfilerItselfDoesIsNoPythonOfTheProgram) {
  for (const char* file : {"train.py(5): tokens", "torch/profiler/profiler.py(900): __enter__"}) {
    ModelBuilder b;
    b.step(0, kStep);
    b.op("aten::mm", 0, 100);
    b.op("aten::mm", kStep - 100, kStep);
    PythonDetail detail{1, 0, kNone, 0};
    Event& e = b.raw().events[b.label(file, 100, kStep - 100)];
    e.flags |= kEventPython;
    e.python = b.raw().arena.copy(detail);
    EXPECT_EQ(Advised(std::move(b)).find("PY1") == nullptr, std::string(file).starts_with("torch/"));
  }
}

TEST(Advice, MemoryThatAServerTookBeforeIsNoProblem) {
  for (bool trains : {false, true}) {
    ModelBuilder b;
    b.step(0, kStep);
    b.kernel("gemm", 0, kStep);
    b.device(0, 8, 0, 1000);
    b.memory(1, 1, 10, 970);  // 960 were allocated before
    if (trains) b.range("MmBackward0", 200, 300, Scope::backward);
    EXPECT_EQ(Advised(std::move(b)).find("MEM1") != nullptr, trains);
  }
}

TEST(Advice, OfALoaderFitsTheMachine) {
  ModelBuilder cpu, gpu;
  for (ModelBuilder* b : {&cpu, &gpu}) {
    b->step(0, kStep);
    b->label(kSingleLoader, 0, 8000);
    b->op("aten::relu", 8000, kStep);
  }
  gpu.launch("gemm", 8100, 8200, kStep);
  Advised without(std::move(cpu)), with(std::move(gpu));
  EXPECT_EQ(without.find("DL1")->fix().find("pin_memory"), std::string::npos);
  EXPECT_NE(with.find("DL1")->fix().find("pin_memory"), std::string::npos);
  // Two workers take 4 ms each, and the rest of the step is shorter than that.
  EXPECT_NEAR(without.find("DL1")->match.saving_ns, 4e6, 1);
}

// Workers cannot hide a loader behind a step that is nothing else, but they share its work.
TEST(Advice, AStepOfNothingButLoadingIsNoMinorMatter) {
  ModelBuilder b;
  b.step(0, kStep);
  b.label(kSingleLoader, 0, kStep - 20);
  b.op("aten::relu", kStep - 20, kStep);
  Advised advised(std::move(b));
  ASSERT_TRUE(advised.find("DL1"));
  EXPECT_FALSE(advised.find("DL1")->minor);
}

TEST(Advice, StepsThatAccumulateGradientsAreComparedWithTheirLike) {
  for (bool labelled : {true, false}) {
    ModelBuilder b;
    for (i64 s = 0, at = 0; s < 12; s++) {
      bool updates = s % 3 == 2;
      i64 end = at + (updates ? 3000 : 1000);
      b.step(at, end);
      if (updates && labelled) b.label("Optimizer.step#SGD.step", at + 1000, end);
      at = end;
    }
    EXPECT_EQ(Advised(std::move(b)).find("VR1") == nullptr, labelled);
  }
}

TEST(Advice, AFirstStepThatWarmsUpIsNotUnevenAsWell) {
  ModelBuilder b;
  i64 at = 0;
  for (i64 us : {5000, 1300, 1000, 1000, 1000, 1000}) b.step(at, at + us), at += us;
  Advised a(std::move(b));
  EXPECT_EQ(a.find("VR1"), nullptr);
  const Advice* warm = a.find("WU1");
  ASSERT_NE(warm, nullptr);
  EXPECT_NE(warm->fix().find("--steps 2:6"), std::string::npos) << warm->fix();  // steps that this run had
}

TEST(Advice, LaunchesOfGraphsAreNoReasonToCaptureOne) {
  for (const char* launch : {"cudaLaunchKernel", "cudaGraphLaunch"}) {
    ModelBuilder b;
    b.step(0, kStep);
    for (i64 at = 0; at < kStep; at += 1000) {
      u32 call = b.call(launch, at, at + 500);
      for (i64 k = 0; k < 3; k++) b.kernel("gemm", at + 510 + 160 * k, at + 670 + 160 * k, call);
    }
    Advised a(std::move(b));
    EXPECT_EQ(a.find("LN1") == nullptr, std::string(launch) == "cudaGraphLaunch");
    EXPECT_EQ(a.facts.replays_graphs, std::string(launch) == "cudaGraphLaunch");
  }
}

TEST(Advice, ACopyIsNotToBlameForTheWorkItWaitsFor) {
  ModelBuilder b;
  b.step(0, kStep);
  for (i64 i = 0; i < 12; i++) {
    i64 at = i * 800;  // kernels apart, launched ahead, and a copy to pageable memory that waits for them
    for (i64 k = 0; k < 6; k++) b.launch("gemm", at + k * 2, at + 20 + k * 120, at + 80 + k * 120);
    b.copy(2, 1, 8, at + 682, at + 684, b.call("cudaMemcpyAsync", at + 20, at + 686));
  }
  EXPECT_EQ(Advised(std::move(b)).find("CP3"), nullptr);
}

TEST(Advice, MixedPrecisionIsForTrainingOnly) {
  for (bool trains : {true, false}) {
    ModelBuilder b;
    b.step(0, kStep);
    b.device(0, 7, 0, 1 << 30);
    b.op("aten::mm", 0, 100, {{{64, 64}}, {{64, 64}}});
    b.launch("volta_sgemm_128x64", 10, 50, kStep);
    if (trains) b.range("MmBackward0", 200, 300, Scope::backward);
    Advised a(std::move(b));
    ASSERT_NE(a.find("TC1"), nullptr);
    EXPECT_EQ(a.find("TC1")->fix().find("Train") != std::string::npos, trains);
  }
}

TEST(Advice, AnOptimizerThatCannotBeFusedIsNotToBeCreatedSo) {
  for (const char* name : {"Adam", "AdamW", "SGD", "Adagrad", "RMSprop", "SharedAdam"}) {
    ModelBuilder b;
    b.step(0, kStep);
    b.label(std::string("Optimizer.step#") + name + ".step", 0, 8000);
    for (i64 i = 0; i < 80; i++) b.op("aten::add_", i * 100, i * 100 + 75);
    b.range("MmBackward0", 8000, kStep, Scope::backward);
    Advised a(std::move(b));
    const Advice* found = a.find("OP1");
    ASSERT_NE(found, nullptr) << name;
    bool own = std::string(name) == "RMSprop" || std::string(name) == "SharedAdam";
    EXPECT_EQ(found->fix().starts_with("Use an optimizer that takes fused=True"), own) << name << found->fix();
  }
}

TEST(Advice, OnACpuAnOptimizerSavesNoMoreThanThePythonBetweenItsOperators) {
  ModelBuilder b;
  b.step(0, kStep);
  b.label("Optimizer.step#Adam.step", 0, 8000);
  for (i64 i = 0; i < 80; i++) b.op("aten::add_", i * 100, i * 100 + 75);
  b.range("MmBackward0", 8000, kStep, Scope::backward);
  Advised a(std::move(b));
  const Advice* found = a.find("OP1");
  ASSERT_NE(found, nullptr);
  EXPECT_NEAR(found->match.share, 0.2, 1e-9);
  EXPECT_LE(found->match.saving_ns, 1e6);
  EXPECT_NE(found->fix().find("fused=True"), std::string::npos);
}

TEST(Advice, ALeadingDimensionIsOddNotABatch) {
  for (u32 odd_columns : {0, 1}) {
    ModelBuilder b;
    b.step(0, kStep);
    b.kernel("gemm", 0, 5000);
    b.op("aten::mm", 0, 50, {{{197, 64}, 5}, {{64, 64 + odd_columns}, 5}});
    b.launch("hmma_gemm", 10, 5000, kStep);
    EXPECT_EQ(Advised(std::move(b)).find("PT2") != nullptr, odd_columns == 1);
  }
}

TEST(Advice, PythonBetweenOperatorsIsNamedOrElseTheOptionThatDoes) {
  for (bool recorded : {false, true}) {
    ModelBuilder b;
    b.step(0, kStep);
    b.op("aten::mm", 0, 100);
    b.op("aten::mm", kStep - 100, kStep);
    if (recorded) {
      PythonDetail detail{1, 0, kNone, 0};
      u32 outer = b.label("train.py(9): main", 100, kStep - 200), inner = b.label("train.py(5): tokens", 200, 9000);
      for (u32 event : {outer, inner}) {
        Event& e = b.raw().events[event];
        e.flags |= kEventPython;
        e.python = b.raw().arena.copy(detail);
      }
    }
    Advised a(std::move(b));
    const Advice* found = a.find("PY1");
    ASSERT_NE(found, nullptr);
    EXPECT_NEAR(found->match.share, 0.98, 1e-9);
    EXPECT_EQ(found->match.what.find("--with-stack") == std::string::npos, recorded) << found->match.what;
    EXPECT_EQ(found->match.what.find("train.py(5): tokens") != std::string::npos, recorded) << found->match.what;
  }
}

TEST(Advice, NothingToAnalyseGivesNoAdviceAndSaysSo) {
  Advised a{ModelBuilder()};
  EXPECT_TRUE(a.advice.empty());
  ASSERT_FALSE(a.facts.unknown().empty());
  EXPECT_NE(a.facts.unknown()[0].find("nothing was recorded"), std::string::npos);
}

TEST(Advice, WhatCannotBeKnownIsSaid) {
  ModelBuilder b;
  b.op("aten::mm", 0, 100);
  Advised a(std::move(b));
  std::string all;
  for (const std::string& line : a.facts.unknown()) all += line + "\n";
  for (const char* word : {"no steps", "no GPU", "no input shapes", "no memory events"})
    EXPECT_NE(all.find(word), std::string::npos) << all;
  EXPECT_EQ(a.facts.flops.unknown, 1u);
}

}  // namespace
}  // namespace tprof
