// The tables of `tprof stats` beyond operators: what their rows say, and what they say where they know nothing.
#include "report/gpu_tables.h"

#include <gtest/gtest.h>

#include "model_builder.h"
#include "report/communication.h"
#include "report/flops_table.h"
#include "report/overview.h"
#include "report/peak_tables.h"
#include "report/stats_tables.h"

namespace tprof {
namespace {

i64 whole(const Table& table, size_t row, const char* key) {
  return std::get<i64>(table.rows.at(row).at(size_t(table.column(key))));
}
double real(const Table& table, size_t row, const char* key) {
  return std::get<double>(table.rows.at(row).at(size_t(table.column(key))));
}
std::string text(const Table& table, size_t row, const char* key) {
  return std::get<std::string>(table.rows.at(row).at(size_t(table.column(key))));
}
bool known(const Table& table, size_t row, const char* key) {
  return table.rows.at(row).at(size_t(table.column(key))).index() != 0;
}
bool says(const Table& table, const std::string& what) {
  return std::any_of(table.footer.begin(), table.footer.end(),
                     [&](const std::string& line) { return line.find(what) != line.npos; });
}

// Two steps of 1000 us. In each a kernel of 200 us, all-reduce that overlaps it by 50 of 150 us, and a copy of 100 us.
Model two_steps() {
  ModelBuilder b;
  for (i64 at : {0, 1000}) {
    b.step(at, at + 1000);
    b.op("aten::mm", at + 5, at + 60, {{{1000, 1000}}, {{1000, 1000}}});
    b.launch("gemm", at + 10, at + 100, at + 300);
    b.launch("ncclDevKernel_AllReduce_Sum_f32", at + 20, at + 250, at + 400, 1, 9);
    b.copy(1, 2, 5'000'000, at + 500, at + 600, b.call("cudaMemcpyAsync", at + 450, at + 460));
  }
  b.device(0, 9, 0, 80ull << 30, "NVIDIA H100 80GB HBM3");
  return b.model();
}
Windows windows_all(const Model& model) { return windows_of(model); }

TEST(ExposedTable, RowsSumToTheirStep) {
  Model model = two_steps();
  Windows windows = windows_all(model);
  Table table = exposed_table(exposed(model, NameClasses(model), windows), windows);
  ASSERT_EQ(table.rows.size(), 3u);  // two steps and all
  for (size_t row = 0; row < 3; row++) {
    EXPECT_EQ(whole(table, row, "computation") + whole(table, row, "exposed_communication") +
                  whole(table, row, "exposed_copies") + whole(table, row, "idle"),
              whole(table, row, "total"));
    EXPECT_EQ(whole(table, row, "exposed_communication"), (row == 2 ? 2 : 1) * 100'000);
    EXPECT_DOUBLE_EQ(real(table, row, "overlap"), 100.0 / 3);
  }
  EXPECT_EQ(text(table, 0, "step"), "0");
  EXPECT_EQ(text(table, 2, "step"), "all");
}

TEST(IdleTable, CausesAndEdgesSumToTheIdleTime) {
  Model model = two_steps();
  NameClasses classes(model);
  Waits waits(model, classes);
  HostTimelines timelines(model, classes, waits);
  std::vector<IdleLane> lanes = idle(model, windows_all(model), timelines);
  Table table = idle_table(lanes);
  ASSERT_EQ(table.rows.size(), 3u);  // the device, two streams
  for (size_t row = 0; row < table.rows.size(); row++)
    EXPECT_EQ(whole(table, row, "host_wait") + whole(table, row, "kernel_wait") + whole(table, row, "other") +
                  whole(table, row, "device_wait") + whole(table, row, "unknown") + whole(table, row, "edges"),
              whole(table, row, "idle"));
  EXPECT_EQ(text(table, 0, "stream"), "all");
  EXPECT_EQ(text(table, 1, "stream"), "7");

  Table reasons = idle_reasons_table(model, lanes);
  i64 sum = whole(table, 0, "launch"), edges = lanes[0].launch_at_edges_ns;
  for (size_t row = 0; row < reasons.rows.size(); row++) {
    sum += whole(reasons, row, "time");
    edges += whole(reasons, row, "edges");
  }
  EXPECT_EQ(sum, whole(table, 0, "host_wait"));
  EXPECT_EQ(edges, whole(table, 0, "edges_host_wait"));
  EXPECT_GT(edges, 0);
  for (size_t row = 0; row < reasons.rows.size(); row++)  // steps are one
    if (known(reasons, row, "name")) {
      EXPECT_NE(text(reasons, row, "name"), "ProfilerStep#0");
    }
}

TEST(LaunchTables, CountsDelaysAndNamesTheWorst) {
  ModelBuilder b;
  b.step(0, 1000);
  b.kernel("late", 300, 400, b.call("cudaLaunchKernel", 10, 20));
  b.kernel("short", 500, 505, b.call("cudaLaunchKernel", 420, 495));
  b.kernel("unknown", 600, 700);
  Model model = b.model();
  Waits waits(model, NameClasses{model});
  Launches found = launches(model, windows_all(model), waits);
  Table table = launches_table(found);
  EXPECT_EQ(whole(table, 0, "works"), 2);
  EXPECT_EQ(whole(table, 0, "mean_delay"), (280'000 + 5'000) / 2);
  EXPECT_EQ(whole(table, 1, "works"), 1);  // below 10 us
  EXPECT_EQ(whole(table, 3, "works"), 1);  // a call above 50 us
  EXPECT_TRUE(says(table, "1 GPU activities have no call"));
  EXPECT_EQ(whole(slow_calls_table(model, waits, found), 0, "duration"), 75'000);
  EXPECT_EQ(text(delayed_work_table(model, found), 0, "name"), "late");
  EXPECT_EQ(whole(delayed_work_table(model, found), 0, "delay"), 280'000);
  Table queues = queues_table(found);
  ASSERT_EQ(queues.rows.size(), 1u);
  EXPECT_EQ(whole(queues, 0, "longest"), 1);
  EXPECT_NEAR(real(queues, 0, "mean_length"), (290 + 80) / 1000.0, 1e-9);
}

TEST(CopiesTable, BandwidthByKindAndMemory) {
  Model model = two_steps();
  Table table = copies_table(copies(model, windows_all(model)));
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(text(table, 0, "kind"), "host to device");
  EXPECT_EQ(text(table, 0, "host_memory"), "pinned");
  EXPECT_EQ(whole(table, 0, "calls"), 2);
  EXPECT_DOUBLE_EQ(real(table, 0, "bandwidth"), 50);
}

TEST(FlopsTable, SharesOfTheRoofAndMfu) {
  Model model = two_steps();
  std::vector<DevicePeak> peaks = device_table("H100; 1000; 10; 100; 200; 400; 800");
  Table table = flops_table(model, flops(model, windows_all(model), peaks));
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(text(table, 0, "name"), "aten::mm");
  EXPECT_DOUBLE_EQ(real(table, 0, "gflop"), 2 * 2.0);
  // The operator's GPU work is the gemm and the all-reduce that was launched inside it.
  EXPECT_DOUBLE_EQ(real(table, 0, "tflops"), 4e9 / double(whole(table, 0, "time")) / 1e3);
  EXPECT_DOUBLE_EQ(real(table, 0, "roof_percent"), real(table, 0, "tflops"));  // the roof is 100 TFLOP/s
  EXPECT_EQ(text(table, 0, "bound_by"), "computation");
  EXPECT_TRUE(says(table, "MFU: 2.00 %")) << table.footer.back();  // 4 GFLOP in 2 ms are 2 TFLOP/s
  Table unknown = flops_table(model, flops(model, windows_all(model), {}));
  EXPECT_FALSE(known(unknown, 0, "roof_percent"));
  EXPECT_TRUE(says(unknown, "NVIDIA H100 80GB HBM3 is not in the device table: --devices FILE"));
}

// As ROCm's are, and those of replayed graphs.
TEST(KernelsTable, WhatAKernelDoesNotStateIsNotZero) {
  ModelBuilder b;
  b.step(0, 1000);
  b.kernel("gemm", 100, 200);
  Model model = b.model();
  Table table = kernels_table(kernels_by_op(model, build_op_tree(model)), true, RuleSet::tprof);
  for (const char* key : {"grid", "block", "registers_per_thread", "shared_memory"})
    EXPECT_FALSE(known(table, 0, key)) << key;
}

TEST(MainThread, WithoutStepsIsTheOneOfMostOperators) {
  ModelBuilder b;
  b.label("a daemon that sleeps", 0, 1000, 3);
  b.op("aten::mm", 10, 20, {}, 5);
  b.op("aten::mm", 30, 40, {}, 5);
  b.range("MmBackward0", 100, 200, Scope::backward, 4);
  for (i64 at : {110, 130, 150}) b.op("aten::mm", at, at + 10, {}, 4);
  Model model = b.model();
  EXPECT_EQ(model.threads[main_thread_of(model)].tid, 5u);
}

TEST(PeakTable, OwnersByOperatorAndStack) {
  ModelBuilder b;
  b.step(0, 100);
  u32 op = b.op("aten::empty", 10, 20);
  b.raw().events[op].stack = b.stack("train.py(7): forward");
  b.memory(5, 0x1000, 300, 300);
  b.memory(15, 0x2000, 700, 1000, 4000);
  b.memory(50, 0x2000, -700, 300, 4000);
  Model model = b.model();
  Table table = peak_table(model, memory_peaks(model, windows_all(model)), 0);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(text(table, 0, "name"), "aten::empty");
  EXPECT_EQ(whole(table, 0, "size"), 700);
  EXPECT_DOUBLE_EQ(real(table, 0, "share"), 70);
  EXPECT_EQ(text(table, 0, "call_stack"), "train.py(7): forward");
  EXPECT_EQ(text(table, 1, "name"), "(no operator)");
  EXPECT_TRUE(says(table, "GPU0: peak 1000 B"));
  EXPECT_TRUE(says(table, "leak: not known"));
  EXPECT_TRUE(says(table, "up to 3.61 KB of it unused"));
}

TEST(PeakTable, NamesWhatLeaks) {
  ModelBuilder b;
  for (i64 s = 0; s < 5; s++) {
    b.step(100 * s, 100 * s + 100);
    b.op("aten::clone", 100 * s + 10, 100 * s + 20);
    b.memory(100 * s + 15, u64(0x1000 + s), 512, u64(512 * (s + 1)));
  }
  Model model = b.model();
  std::vector<MemoryPeak> peaks = memory_peaks(model, windows_all(model));
  EXPECT_TRUE(says(peak_table(model, peaks, 0), "leak: likely, 512 B more with every step"));
  Table leaks = leaks_table(model, peaks, 0);
  ASSERT_EQ(leaks.rows.size(), 1u);
  EXPECT_EQ(text(leaks, 0, "name"), "aten::clone");
  EXPECT_EQ(whole(leaks, 0, "blocks"), 3);  // neither the first step's nor the last one's
}

TEST(CriticalPathTable, KindsSumToTheStep) {
  Model model = two_steps();
  NameClasses classes(model);
  Waits waits(model, classes);
  HostTimelines timelines(model, classes, waits);
  CriticalPaths paths(model, classes, timelines);
  std::vector<CriticalPath> steps;
  i64 all = 0;
  for (const Interval& step : windows_all(model).steps) {
    steps.push_back(paths.of(step));
    all += step.length();
  }
  for (const Table& table : {critical_path_table(model, steps), path_links_table(model, steps)}) {
    i64 sum = 0;
    double share = 0;
    for (size_t row = 0; row < table.rows.size(); row++) {
      sum += whole(table, row, "time");
      share += real(table, row, "share");
    }
    EXPECT_NEAR(double(sum), double(all) / 2, double(table.rows.size()));
    EXPECT_NEAR(share, 100, 1e-6);
  }
}

TEST(RanksTable, SaysWhoWaitsAndWhoIsWaitedFor) {
  std::vector<Rank> ranks;
  for (i64 late : {0, 300}) {
    ModelBuilder b;
    b.step(0, 2000);
    b.launch("ncclDevKernel_AllReduce_Sum_f32", 500 + late, 600 + late, 1000);
    ranks.push_back(rank_of(b.model(), "rank" + std::to_string(late)));
  }
  Distributed both = distributed(ranks);
  Table table = ranks_table(both, ranks);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(whole(table, 0, "waiting"), 300'000);
  EXPECT_EQ(whole(table, 1, "waited_for"), 300'000);
  std::vector<Rank> one = {ranks[0]};
  Table alone = ranks_table(distributed(one), one);
  EXPECT_FALSE(known(alone, 0, "waiting"));
  EXPECT_TRUE(says(communication_table(distributed(one)), "one rank only"));
}

TEST(Tables, OfATraceOfTheCpuSayWhatWouldTellMore) {
  ModelBuilder b;
  b.step(0, 100);
  b.op("aten::mm", 10, 20);
  Model model = b.model();
  Windows windows = windows_all(model);
  NameClasses classes(model);
  Waits waits(model, classes);
  HostTimelines timelines(model, classes, waits);
  Launches none = launches(model, windows, waits);
  for (const Table& table : {exposed_table(exposed(model, classes, windows), windows),
                             idle_table(idle(model, windows, timelines)), launches_table(none), queues_table(none)}) {
    EXPECT_TRUE(table.rows.empty());
    EXPECT_TRUE(says(table, "--activities cuda"));
  }
  EXPECT_TRUE(says(copies_table({}), "none"));
  EXPECT_TRUE(says(flops_table(model, flops(model, windows, {})), "--record-shapes"));
  EXPECT_TRUE(says(peak_table(model, {}, 0), "--profile-memory"));
}

TEST(OwnCost, IsARowOfItsOwnAndNullWhereNotKnown) {
  ModelBuilder b;
  b.step(0, 1000);
  b.launch("gemm", 10, 100, 900);
  b.overhead(200, 250);
  b.overhead(240, 260);  // overlaps: counts once
  b.raw().own_ns = 7'000;
  Model model = b.model();
  Overview overview = overview_of(model);
  EXPECT_EQ(overview.own.cupti_ns, 60'000);
  EXPECT_EQ(overview.own.events, 3u);  // the step's range, the call, the kernel
  Json json = overview_json(overview, {"run", "worker", "1"}, 1)["own_cost"];
  EXPECT_EQ(json["cupti_us_per_step"], 60.0);
  EXPECT_EQ(json["cupti_percent"], 6.0);
  EXPECT_EQ(json["process_us"], 7.0);
  EXPECT_EQ(json["estimate"], true);
  std::string shown = overview_text(overview, {"run", "worker", "1"}, {});
  EXPECT_NE(shown.find("including profiler (est.)   60.000us"), shown.npos) << shown;

  ModelBuilder cpu;
  cpu.step(0, 1000);
  Overview unknown = overview_of(cpu.model());
  json = overview_json(unknown, {"run", "worker", "1"}, 1)["own_cost"];
  EXPECT_TRUE(json["cupti_us_per_step"].is_null() && json["cupti_percent"].is_null() && json["process_us"].is_null());
  EXPECT_EQ(own_cost_line(overview),
            "Profiler's own cost, an estimate: CUPTI 60.000us per step (6.0 %), tprof 7.000us in the process so far, "
            "plus the cost of recording 3 events (not measured)");
  EXPECT_EQ(own_cost_line(unknown), "Profiler's own cost: that of recording 1 events (not measured)");
}

}  // namespace
}  // namespace tprof
