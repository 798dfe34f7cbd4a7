// Critical paths of small graphs made by hand; memory at its peak; FLOPs from shapes.
#include <gtest/gtest.h>

#include <random>

#include "analysis/critical_path.h"
#include "analysis/flops.h"
#include "analysis/memory_peak.h"
#include "base/error.h"
#include "model_builder.h"

namespace tprof {
namespace {

struct Path {
  Model model;
  Words words;
  Waits waits;
  HostTimelines timelines;
  CriticalPath path;

  explicit Path(ModelBuilder&& b)
      : model(b.model()), words(model), waits(model, words), timelines(model, words, waits) {
    path = CriticalPaths(model, words, timelines).of(windows_of(model).steps[0]);
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
  EXPECT_EQ(Path(std::move(b)).text(), "ProfilerStep#0 0-5, ProfilerStep#0 5-20, launch 20-25, held up 25-900, k2 900-1000");
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
    Words words(model);
    Waits waits(model, words);
    HostTimelines timelines(model, words, waits);
    Interval step = windows_of(model).steps[0];
    CriticalPath path = CriticalPaths(model, words, timelines).of(step);
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

double flops_of(const std::string& op, std::vector<ModelBuilder::Shape> shapes) {
  ModelBuilder b;
  b.op(op, 0, 10, std::move(shapes));
  Model model = b.model();
  static const std::vector<DevicePeak> kTable = device_table();
  Flops f = flops(model, windows_of(model), kTable);
  return f.counted ? f.total : -1;
}

TEST(Flops, FollowFromShapes) {
  EXPECT_EQ(flops_of("aten::mm", {{{3, 5}}, {{5, 7}}}), 2 * 3 * 5 * 7);
  EXPECT_EQ(flops_of("aten::addmm", {{{7}}, {{3, 5}}, {{5, 7}}}), 2 * 3 * 5 * 7);
  EXPECT_EQ(flops_of("aten::bmm", {{{4, 3, 5}}, {{4, 5, 7}}}), 4 * 2 * 3 * 5 * 7);
  EXPECT_EQ(flops_of("aten::baddbmm", {{{4, 3, 7}}, {{4, 3, 5}}, {{4, 5, 7}}}), 4 * 2 * 3 * 5 * 7);
  EXPECT_EQ(flops_of("aten::linear", {{{2, 3, 5}}, {{7, 5}}}), 2 * 2 * 3 * 5 * 7);
  EXPECT_EQ(flops_of("aten::scaled_dot_product_attention", {{{2, 4, 8, 16}}, {{2, 4, 9, 16}}, {{2, 4, 9, 12}}}),
            2.0 * 2 * 4 * 8 * 9 * (16 + 12));
  EXPECT_EQ(flops_of("aten::convolution_backward", {{{2, 8, 5, 5}}, {{2, 3, 7, 7}}, {{8, 3, 3, 3}}}),
            2 * 2.0 * (2 * 8 * 5 * 5) * 3 * 9);
}

TEST(Flops, WhatDoesNotFitIsUnknownAndNotZero) {
  EXPECT_EQ(flops_of("aten::mm", {{{3, 5}}, {{6, 7}}}), -1);
  EXPECT_EQ(flops_of("aten::conv2d", {{{1, 3, 8, 8}}, {{4, 3, 3, 3}}}), -1);  // stride is not known
  EXPECT_EQ(flops_of("aten::mm", {}), -1);
}

TEST(Flops, InnerOperatorsArePartOfTheOuterOne) {
  ModelBuilder b;
  b.device(0, 8, 0, 1ull << 36, "NVIDIA A100-SXM4-40GB");
  b.op("aten::linear", 0, 100, {{{64, 64}, 5}, {{64, 64}, 5}});
  b.op("aten::addmm", 10, 90, {{{64}, 5}, {{64, 64}, 5}, {{64, 64}, 5}});
  b.launch("hmma", 20, 50, 150);
  b.op("aten::conv2d", 200, 300, {{{1, 3, 8, 8}}, {{4, 3, 3, 3}}});
  b.op("aten::convolution", 210, 290, {{{1, 3, 8, 8}}, {{4, 3, 3, 3}}});
  Model model = b.model();
  std::vector<DevicePeak> table = device_table();
  Flops f = flops(model, windows_of(model), table);
  EXPECT_EQ(f.counted, 1u);
  EXPECT_EQ(f.unknown, 1u);
  EXPECT_EQ(f.total, 2.0 * 64 * 64 * 64);
  ASSERT_NE(f.peak, nullptr);
  EXPECT_NEAR(f.mfu, f.total / 312e12 / 300e-6, 1e-12);
  EXPECT_TRUE(f.memory_bound(f.rows[0]));
  EXPECT_EQ(f.rows[0].gpu_ns, 100'000);
  EXPECT_GT(f.of_roof(f.rows[0]), 0);
}

TEST(Flops, TheDeviceTableCanBeExtended) {
  std::vector<DevicePeak> table = device_table("# mine\nGadget 3000; 100; 1; 2; 0; 4; 0\n");
  ASSERT_NE(find_peak(table, "Some Gadget Mk 3000"), nullptr);
  EXPECT_EQ(find_peak(table, "Some Gadget Mk 3000")->half, 4);
  EXPECT_EQ(find_peak(table, "Gadget 2000"), nullptr);
  struct Known {
    const char* device;
    double bytes_gbps, half;  // 0: not in the table
  };
  for (const Known& known : {Known{"NVIDIA H100 PCIe", 2000, 756}, Known{"NVIDIA H100 80GB HBM3", 3350, 989},
                             Known{"NVIDIA H200", 4800, 989}, Known{"NVIDIA GH200 480GB", 4000, 989},
                             Known{"NVIDIA GB200", 8000, 2500}, Known{"NVIDIA B200", 8000, 2250},
                             Known{"NVIDIA A100-SXM4-80GB", 2039, 312}, Known{"NVIDIA A100 80GB PCIe", 1935, 312},
                             Known{"NVIDIA A100-SXM4-40GB", 1555, 312}, Known{"NVIDIA A10G", 600, 70},
                             Known{"NVIDIA A10", 600, 125}, Known{"NVIDIA L40S", 864, 362}, Known{"NVIDIA L4", 300, 121},
                             Known{"Tesla V100-DGXS-32GB", 900, 125}, Known{"Tesla V100-PCIE-16GB", 900, 112},
                             Known{"Tesla V100S-PCIE-32GB", 1134, 130}, Known{"Tesla T4", 320, 65},
                             Known{"NVIDIA GeForce RTX 5090", 1792, 209.5}, Known{"NVIDIA RTX 6000 Ada Generation", 960, 364.2},
                             Known{"NVIDIA RTX A6000", 768, 154.8}, Known{"NVIDIA RTX A4000", 0, 0},
                             Known{"NVIDIA RTX A1000", 0, 0}, Known{"NVIDIA T400 4GB", 0, 0}, Known{"Quadro P1000", 0, 0}}) {
    const DevicePeak* peak = find_peak(table, known.device);
    EXPECT_EQ(peak ? peak->bytes_gbps : 0, known.bytes_gbps) << known.device;
    EXPECT_EQ(peak ? peak->half : 0, known.half) << known.device;
  }
  EXPECT_THROW(device_table("Gadget; 100; 1\n"), Error);
  EXPECT_THROW(device_table("Gadget; 100; 1; 2; 0; 4; x\n"), Error);
}

}  // namespace
}  // namespace tprof
