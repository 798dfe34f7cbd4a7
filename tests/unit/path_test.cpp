// Critical paths of small graphs made by hand; memory at its peak.
#include <gtest/gtest.h>

#include <random>

#include "analysis/tables/memory_peak.h"
#include "analysis/time/critical_path.h"
#include "base/error.h"
#include "model_builder.h"

namespace tprof {
namespace {

struct Path {
  Model model;
  NameClasses classes;
  Waits waits;
  HostTimelines timelines;
  CriticalPath path;

  explicit Path(ModelBuilder&& b)
      : model(b.model()), classes(model), waits(model, classes), timelines(model, classes, waits) {
    path = CriticalPaths(model, classes, timelines).of(windows_of(model).steps[0]);
  }
  // "host 0-10, launch 10-20 ..." in us
  std::string text() const {
    std::string out;
    for (const PathPiece& p : path.pieces) {
      bool runs = p.work != kNone && static_cast<u32>(p.kind) <= static_cast<u32>(PathKind::copy);
      std::string what = runs                          ? model.names[model.gpu[p.work].name]
                         : p.kind == PathKind::gap     ? "gap"
                         : p.kind == PathKind::launch  ? "launch"
                         : p.kind == PathKind::held_up ? "held up"
                         : p.event >= 0                ? model.names[model.events[p.event].name]
                                                       : "nothing";
      out += (out.empty() ? "" : ", ") + what + " " + std::to_string(p.begin_ns / 1000) + "-" +
             std::to_string(p.end_ns / 1000);
    }
    return out;
  }
};

TEST(CriticalPath, FollowsTheGpuWhileItIsBehind) {
  ModelBuilder b;
  b.step(0, 60);
  b.op("aten::a", 5, 15);
  b.launch("k1", 10, 20, 50);
  b.launch("k2", 30, 50, 90);
  b.launch("k3", 40, 92, 100);
  EXPECT_EQ(Path(std::move(b)).text(),
            "ProfilerStep#0 0-5, aten::a 5-10, launch 10-20, k1 20-50, k2 50-90, gap 90-92, k3 92-100");
}

TEST(CriticalPath, FollowsTheHostWhileItIsLate) {
  ModelBuilder b;
  b.step(0, 75);
  b.launch("k1", 5, 10, 20);
  b.op("aten::slow", 20, 70);
  b.launch("k2", 60, 70, 100);
  EXPECT_EQ(Path(std::move(b)).text(),
            "ProfilerStep#0 0-5, ProfilerStep#0 5-10, ProfilerStep#0 10-20, aten::slow 20-60, launch 60-70, k2 70-100");
}

TEST(CriticalPath, AWaitForTheGpuLeadsToItsLastWork) {
  ModelBuilder b;
  b.step(0, 100);
  b.launch("k1", 0, 5, 60);
  b.call("cudaStreamSynchronize", 10, 65);
  b.op("aten::rest", 70, 95);
  EXPECT_EQ(Path(std::move(b)).text(),
            "launch 0-5, k1 5-60, ProfilerStep#0 60-65, ProfilerStep#0 65-70, aten::rest 70-95, ProfilerStep#0 95-100");
}

// .item() and .cpu(): nearly all of the call is the kernels'.
TEST(CriticalPath, ACopyToPageableMemoryLeadsToTheKernelsBeforeIt) {
  for (const char* name : {"cudaMemcpyAsync", "hipMemcpyWithStream"}) {
    ModelBuilder b;
    b.step(0, 1000);
    b.launch("k1", 0, 10, 400);
    b.launch("k2", 20, 402, 900);
    b.copy(2, 1, 8, 902, 905, b.call(name, 30, 920));
    Path path(std::move(b));
    EXPECT_EQ(path.text(),
              "launch 0-10, k1 10-400, gap 400-402, k2 402-900, gap 900-902,  902-905, ProfilerStep#0 905-920, "
              "ProfilerStep#0 920-1000");
    EXPECT_EQ(path.path.by_activity[static_cast<u32>(Activity::copying)], 15'000);
    EXPECT_EQ(path.path.by_kind[static_cast<u32>(PathKind::computation)], 888'000);
  }
}

TEST(CriticalPath, ACopyThatReturnsBeforeItIsDoneLeadsToTheKernelsToo) {
  ModelBuilder b;
  b.step(0, 1000);
  b.launch("k1", 0, 10, 900);
  b.copy(1, 0, 1 << 20, 905, 918, b.call("hipMemcpyWithStream", 30, 916));
  EXPECT_EQ(Path(std::move(b)).text(), "launch 0-10, k1 10-900, ProfilerStep#0 900-916, ProfilerStep#0 916-1000");
}

TEST(CriticalPath, ACallThatOnlyWaitedForItsOwnCopyLeadsToThatCopy) {
  ModelBuilder b;
  b.step(0, 100);
  b.copy(2, 1, 1 << 20, 30, 80, b.call("cudaMemcpyAsync", 20, 90));
  EXPECT_EQ(Path(std::move(b)).text(),
            "ProfilerStep#0 0-20, launch 20-30,  30-80, ProfilerStep#0 80-90, ProfilerStep#0 90-100");
}

TEST(CriticalPath, WorkThatBeginsLongAfterItsLaunchWasHeldUp) {
  ModelBuilder b;
  b.step(0, 1000);
  b.launch("k1", 0, 5, 10);
  b.launch("k2", 20, 900, 1000);  // its call returns at 25
  EXPECT_EQ(Path(std::move(b)).text(),
            "ProfilerStep#0 0-5, ProfilerStep#0 5-20, launch 20-25, held up 25-900, k2 900-1000");
}

TEST(CriticalPath, WorksOfOneLaunchFollowEachOther) {
  ModelBuilder b;
  b.step(0, 300);
  u32 graph = b.call("cudaGraphLaunch", 0, 250);  // its works begin before it returns
  b.kernel("k1", 20, 100, graph);
  b.kernel("k2", 101, 300, graph);
  EXPECT_EQ(Path(std::move(b)).text(), "launch 0-20, k1 20-100, gap 100-101, k2 101-300");
}

TEST(CriticalPath, WhileTheMainThreadWaitsAutogradWorks) {
  ModelBuilder b;
  b.step(0, 100);
  b.op("aten::forward", 0, 30);
  b.range("MulBackward0", 40, 80, Scope::backward, 2);
  b.op("aten::update", 85, 100);
  EXPECT_EQ(Path(std::move(b)).text(),
            "aten::forward 0-30, nothing 30-40, MulBackward0 40-80, ProfilerStep#0 80-85, aten::update 85-100");
}

TEST(CriticalPath, OfRandomTracesSumsToTheStepWithoutHoles) {
  std::mt19937 random(11);
  for (int round = 0; round < 500; round++) {
    ModelBuilder b;
    b.step(0, 300);
    for (u32 n = random() % 15; n > 0; n--) {
      i64 at = i64(random() % 290), begin = at + i64(random() % 30) - 5;  // launches may seem to come late
      b.launch(random() % 4 ? "k" : "ncclKernel", at, begin, begin + i64(random() % 40), 1 + random() % 2,
               random() % 3);
    }
    for (u32 n = random() % 8; n > 0; n--) {
      i64 at = i64(random() % 280);
      b.range("op", at, at + i64(random() % 60), random() % 2 ? Scope::function : Scope::backward, 1 + random() % 3);
    }
    for (u32 n = random() % 4; n > 0; n--) {
      i64 at = i64(random() % 280);
      b.call(random() % 2 ? "cudaDeviceSynchronize" : "cudaFree", at, at + i64(random() % 50), 1 + random() % 2);
    }
    for (u32 n = random() % 6; n > 0; n--) {
      i64 at = i64(random() % 250), begin = at + i64(random() % 30);
      u32 call = b.call("cudaMemcpyAsync", at, at + i64(random() % 50), 1 + random() % 2);
      b.copy(1 + random() % 2, 1 + random() % 2, 64, begin, begin + i64(random() % 20), call, random() % 3);
    }
    Model model = b.model();
    NameClasses classes(model);
    Waits waits(model, classes);
    HostTimelines timelines(model, classes, waits);
    Interval step = windows_of(model).steps[0];
    CriticalPath path = CriticalPaths(model, classes, timelines).of(step);
    i64 at = step.begin, sum = 0, host = 0;
    for (const PathPiece& p : path.pieces) {
      ASSERT_EQ(p.begin_ns, at);
      ASSERT_GT(p.end_ns, p.begin_ns);
      at = p.end_ns;
    }
    ASSERT_EQ(at, step.end);
    for (i64 ns : path.by_kind) sum += ns;
    for (i64 ns : path.by_activity) host += ns;
    ASSERT_EQ(sum, step.length());
    ASSERT_EQ(host, path.by_kind[static_cast<u32>(PathKind::host)]);
  }
}

TEST(MemoryPeak, NamesWhatWasAliveByOperator) {
  ModelBuilder b;
  b.step(0, 1000);
  b.op("aten::conv2d", 0, 100);
  b.op("aten::empty", 10, 20);
  b.op("aten::relu", 200, 300);
  b.memory(15, 1, 600, 700);  // 100 from before the recording
  b.memory(250, 2, 300, 1000, 1500);
  b.memory(260, 3, 50, 1050, 1500);
  b.memory(400, 2, -300, 750, 1500);
  b.memory(500, 9, -1, 749, 1500);
  Model model = b.model();
  std::vector<MemoryPeak> peaks = memory_peaks(model, windows_of(model));
  ASSERT_EQ(peaks.size(), 1u);
  const MemoryPeak& p = peaks[0];
  EXPECT_EQ(p.peak_bytes, 1050u);
  EXPECT_EQ(p.peak_ns, 260'000);
  EXPECT_EQ(p.unseen_bytes, 100u);
  ASSERT_EQ(p.owners.size(), 2u);
  EXPECT_EQ(model.names[p.owners[0].name], "aten::empty");
  EXPECT_EQ(p.owners[1].bytes, 350u);
  EXPECT_EQ(p.owners[1].blocks, 2u);
  EXPECT_EQ(p.unused_bytes, 751u);
  EXPECT_EQ(p.releases_unknown, 1u);
  EXPECT_FALSE(p.growth_known);
}

TEST(MemoryPeak, SharedMemoryAndFailuresAreNoAllocations) {
  ModelBuilder b;
  b.step(0, 1000);
  b.memory(10, 1, 1 << 20, 0, 0, 0);
  b.memory(20, 2, 500, 500, 0, 0);
  b.raw().memory[0].flags = kMemoryShared;
  Model model = b.model();
  EXPECT_EQ(memory_peaks(model, windows_of(model))[0].peak_bytes, 500u);
}

TEST(MemoryPeak, GrowthIsALeakOnlyIfEveryStepGrows) {
  for (bool leaks : {true, false}) {
    ModelBuilder b;
    u64 total = 0;
    for (i64 s = 0; s < 6; s++) {
      b.step(s * 100, s * 100 + 100);
      b.op("aten::cat", s * 100, s * 100 + 50);
      if (s == 4 && !leaks) continue;
      b.memory(s * 100 + 10, u64(s) + 1, 100, total += 100);
    }
    b.memory(700, 2, -100, total -= 100);  // the program ends
    Model model = b.model();
    MemoryPeak p = memory_peaks(model, windows_of(model))[0];
    EXPECT_TRUE(p.growth_known);
    EXPECT_EQ(p.grows, leaks);
    EXPECT_EQ(p.growth_bytes, 100);
    if (leaks) {
      ASSERT_EQ(p.kept.size(), 1u);
      EXPECT_EQ(p.kept[0].bytes, 400u);  // of steps 1 to 4
    }
  }
}

}  // namespace
}  // namespace tprof
