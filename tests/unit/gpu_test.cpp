// The GPU side: records of CUPTI and interposed calls -> Model -> trace.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "check/check.h"
#include "convert/convert.h"
#include "input/trace_file.h"
#include "model/build.h"
#include "model/calls.h"
#include "recording_builder.h"

namespace tprof {
namespace {

using namespace test;
using Json = nlohmann::json;

constexpr u64 kT = kStart;
constexpr GpuPlace at(u32 correlation, u32 stream = 7, u32 device = 0) { return {device, 1, stream, correlation}; }

class GpuTest : public testing::Test {
 protected:
  GpuTest() { b.device(0, an_h100()); }

  void active(u64 begin, u64 end) { b.window(0, WindowState::sealed, 0, -1, begin, begin, end); }

  Model build(size_t window = 0) {
    b.write(path());
    recording = Recording::open(path());
    Meta meta = recording->read_meta();
    return build_model(*recording, meta, request_of(meta.windows.at(window), meta));
  }
  Json convert() {
    b.write(path());
    ConvertOptions options;
    options.use_gzip = false;
    options.force = true;
    ConvertResult r = convert_recording(path(), options);
    if (r.traces.empty()) return {};
    for (const Finding& f : check_trace(r.traces[0].path)) EXPECT_FALSE(f.is_error()) << f.line();
    std::ifstream in(r.traces[0].path);
    return Json::parse(in);
  }
  static std::vector<Json> of(const Json& trace, const std::string& category, const std::string& phase = "X") {
    std::vector<Json> out;
    for (const Json& e : trace["traceEvents"])
      if (e.value("cat", "") == category && e["ph"] == phase) out.push_back(e);
    return out;
  }
  std::string path() const { return dir.path + "/r.tprof"; }

  TempDir dir;
  RecordingBuilder b;
  std::unique_ptr<Recording> recording;
};

TEST_F(GpuTest, AKernelBelongsToTheOperatorThatLaunchedIt) {
  active(kT, kT + 1'000'000);
  b.range(kPid, 1, "aten::linear", kT + 1000, kT + 50'000);
  b.range(kPid, 1, "aten::addmm", kT + 2000, kT + 40'000);
  b.call(kPid, 1, "cudaLaunchKernel", kT + 10'000, kT + 15'000, CallFamily::launch);
  b.api(1, kPid, "cudaLaunchKernel_v7000", kT + 10'100, kT + 14'900, 5);
  KernelRecord more{};
  more.grid[0] = 264;
  more.grid[1] = more.grid[2] = 1;
  more.block[0] = 256;
  more.block[1] = more.block[2] = 1;
  more.registers = 32;
  more.dynamic_shared = 100;
  b.kernel(1, "_Z3gemPf", kT + 20'000, kT + 120'000, at(5), more);
  Json t = convert();
  auto kernels = of(t, "kernel");
  ASSERT_EQ(kernels.size(), 1u);
  const Json& k = kernels[0];
  EXPECT_EQ(k["name"], "gem(float*)");
  EXPECT_EQ(k["pid"], 0);
  EXPECT_EQ(k["tid"], 7);
  EXPECT_DOUBLE_EQ(k["dur"].get<double>(), 100.0);
  Json args = {{"External id", 2},
               {"queued", 0},
               {"device", 0},
               {"context", 1},
               {"stream", 7},
               {"correlation", 5},
               {"registers per thread", 32},
               {"shared memory", 100},
               {"blocks per SM", 2.0},
               {"warps per SM", 16.0},
               {"grid", {264, 1, 1}},
               {"block", {256, 1, 1}},
               {"est. achieved occupancy %", 25}};
  EXPECT_EQ(k["args"], args);
  auto calls = of(t, "cuda_runtime");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0]["name"], "cudaLaunchKernel");
  EXPECT_EQ(calls[0]["args"], (Json{{"External id", 2}, {"cbid", 211}, {"correlation", 5}}));
  EXPECT_DOUBLE_EQ(calls[0]["dur"].get<double>(), 4.8);
  auto starts = of(t, "ac2g", "s"), ends = of(t, "ac2g", "f");
  ASSERT_EQ(starts.size(), 1u);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(starts[0]["id"], ends[0]["id"]);
  EXPECT_EQ(starts[0]["ts"], calls[0]["ts"]);
  EXPECT_EQ(ends[0]["ts"], k["ts"]);
  EXPECT_EQ(t["deviceProperties"][0]["numSms"], 132);
  EXPECT_EQ(t["tprof"]["seen"], 4);
  EXPECT_EQ(t["tprof"]["written"], 4);
}

// --- membership

TEST_F(GpuTest, WorkBelongsToTheWindowOfItsLaunchAndStandsInOneOnly) {
  b.window(0, WindowState::sealed, 0, 1, kT, kT, kT + 100'000);
  b.window(1, WindowState::sealed, 1, 2, kT + 100'000, kT + 100'000, kT + 200'000);
  b.range(kPid, 1, "first", kT + 10'000, kT + 90'000);
  b.range(kPid, 3, "second", kT + 110'000, kT + 190'000);
  b.api(1, kPid, "cudaLaunchKernel", kT + 80'000, kT + 85'000, 1);
  b.api(3, kPid, "cudaLaunchKernel", kT + 120'000, kT + 125'000, 2);
  // The work of the first runs in the second's time; its record lies in the chunks of both.
  for (u32 epoch : {1, 3}) b.kernel(epoch, "late", kT + 130'000, kT + 140'000, at(1));
  b.kernel(3, "later", kT + 150'000, kT + 160'000, at(2));
  Model first = build(0);
  ASSERT_EQ(first.gpu.size(), 1u);
  EXPECT_EQ(first.names[first.gpu[0].name], "late");
  EXPECT_EQ(first.name_of(first.events[size_t(first.gpu[0].op)]), "first");
  EXPECT_EQ(first.ledger.gpu.duplicates, 1u);
  Model second = build(1);
  ASSERT_EQ(second.gpu.size(), 1u);
  EXPECT_EQ(second.names[second.gpu[0].name], "later");
  EXPECT_EQ(second.ledger.gpu.other_window, 1u);
}

TEST_F(GpuTest, WhatWasLaunchedBeforeAGivenBackWindowIsNotTakenForTheNext) {
  // The chunks of the window that launched correlation 1 are gone; its record came in the next one's.
  b.window(1, WindowState::sealed, 1, 2, kT, kT, kT + 100'000);
  b.api(3, kPid, "cudaLaunchKernel", kT + 20'000, kT + 25'000, 2);
  b.kernel(3, "of before", kT + 10'000, kT + 12'000, at(1));
  b.kernel(3, "of here", kT + 30'000, kT + 40'000, at(2));
  b.kernel(3, "call lost", kT + 50'000, kT + 60'000, at(3));
  Model m = build();
  ASSERT_EQ(m.gpu.size(), 2u);
  EXPECT_EQ(m.names[m.gpu[0].name], "of here");
  EXPECT_EQ(m.names[m.gpu[1].name], "call lost");
  EXPECT_EQ(m.ledger.gpu.other_window, 1u);
  EXPECT_EQ(m.ledger.gpu.without_call, 1u);
}

TEST_F(GpuTest, RecordsThatComeLateAreFound) {
  active(kT, kT + 100'000);
  b.api(2, kPid, "cudaLaunchKernel", kT + 20'000, kT + 25'000, 1);
  b.kernel(2, "k", kT + 300'000'000, kT + 300'010'000, at(1));
  Model m = build();
  ASSERT_EQ(m.calls.size(), 1u);
  ASSERT_EQ(m.gpu.size(), 1u);
  EXPECT_EQ(m.gpu[0].dur_ns, 10'000);
}

TEST_F(GpuTest, EqualRecordsOfOneWindowAreDifferentEvents) {
  active(kT, kT + 100'000);
  b.api(1, kPid, "cudaGraphLaunch", kT + 20'000, kT + 25'000, 1);
  for (int i = 0; i < 3; i++) b.kernel(1, "node", kT + 30'000, kT + 31'000, at(1));
  EXPECT_EQ(build().gpu.size(), 3u);
}

TEST_F(GpuTest, ACorrelationThatComesAgainIsOfTheCallBefore) {
  active(kT, kT + 1'000'000'000);
  b.api(1, kPid, "cudaLaunchKernel", kT + 1'000, kT + 2'000, 9);
  b.api(1, kPid, "cudaMemsetAsync", kT + 500'000'000, kT + 500'002'000, 9);
  b.kernel(1, "k", kT + 5'000, kT + 6'000, at(9));
  b.set(1, kT + 500'005'000, kT + 500'006'000, at(9), 64);
  Model m = build();
  ASSERT_EQ(m.gpu.size(), 2u);
  EXPECT_EQ(m.names[m.calls[m.gpu[0].call].name], "cudaLaunchKernel");
  EXPECT_EQ(m.names[m.calls[m.gpu[1].call].name], "cudaMemsetAsync");
}

TEST_F(GpuTest, WarmUpIsDiscardedAndCounted) {
  b.window(0, WindowState::sealed, 1, 2, kT, kT + 100'000, kT + 200'000);
  b.call(kPid, 0, "cudaLaunchKernel", kT + 10'000, kT + 11'000, CallFamily::launch);
  b.call(kPid, 1, "cudaLaunchKernel", kT + 110'000, kT + 111'000, CallFamily::launch);
  Model m = build();
  EXPECT_EQ(m.calls.size(), 1u);
  EXPECT_EQ(m.ledger.discarded_warmup, 1u);
}

// --- times

TEST_F(GpuTest, AClockThatIsSetInsideASpanDoesNotMoveWork) {
  // A minute back at 5 s, seen by the triple at 6 s.
  constexpr u64 kMinute = 60'000'000'000;
  for (u64 s = 6; s < 10; s++)
    b.clock(kT + s * 1'000'000'000, kWall + s * 1'000'000'000 - kMinute, kT + s * 1'000'000'000);
  for (u64 s = 1; s < 5; s++) b.clock(kT + s * 1'000'000'000, kWall + s * 1'000'000'000, kT + s * 1'000'000'000);
  active(kT, kT + 9'000'000'000);
  b.kernel(1, "before", kT + 2'000'000'000, kT + 2'000'001'000, at(0));
  KernelRecord after{};
  after.begin_ns = RecordingBuilder::wall(kT + 7'000'000'000) - kMinute;
  after.end_ns = after.begin_ns + 1000;
  after.place = at(0);
  b.gpu(1, Kind::kernel, b.name("after"), after);
  Model m = build();
  ASSERT_EQ(m.gpu.size(), 2u);
  EXPECT_EQ(m.gpu[0].begin_ns - m.begin_ns, 2'000'000'000);
  EXPECT_EQ(m.gpu[1].begin_ns - m.begin_ns, 7'000'000'000);
  EXPECT_EQ(m.gpu[1].dur_ns, 1000);
}

TEST_F(GpuTest, BadTimesAreRepairedOrCounted) {
  active(kT, kT + 10'000'000);
  for (u32 i = 1; i <= 6; i++) b.api(1, kPid, "cudaLaunchKernel", kT + i * 1'000'000, kT + i * 1'000'000 + 5000, i);
  b.kernel(1, "lost", 0, 0, at(1));
  b.kernel(1, "lost too", kT + 2'100'000, 0, at(2));
  b.kernel(1, "backwards", kT + 3'100'000, kT + 3'000'100, at(3));
  b.kernel(1, "early", kT + 3'999'000, kT + 4'010'000, at(4));
  b.kernel(1, "much too early", kT + 1'000'000, kT + 1'010'000, at(5));
  KernelRecord absurd{};
  absurd.begin_ns = ~u64(0) - 5;
  absurd.end_ns = 17;
  absurd.place = at(6);
  b.gpu(1, Kind::kernel, b.name("absurd"), absurd);
  Model m = build();
  std::map<std::string, const GpuEvent*> by_name;
  for (const GpuEvent& e : m.gpu) by_name[m.names[e.name]] = &e;
  ASSERT_EQ(by_name.size(), 3u);
  EXPECT_EQ(by_name["backwards"]->dur_ns, 0);
  EXPECT_EQ(by_name["early"]->begin_ns - m.begin_ns, 4'000'000);
  EXPECT_EQ(by_name["early"]->dur_ns, 11'000);
  EXPECT_EQ(by_name["much too early"]->begin_ns - m.begin_ns, 1'000'000);
  EXPECT_EQ(m.ledger.dropped["gpu_no_time"], 2u);
  EXPECT_EQ(m.ledger.dropped["gpu_bad_time"], 1u);
  EXPECT_EQ(m.ledger.gpu.negative, 1u);
  EXPECT_EQ(m.ledger.gpu.moved_to_launch, 1u);
  EXPECT_EQ(m.ledger.gpu.before_launch, 1u);
  EXPECT_EQ(m.ledger.seen(), 6u + 6u);  // calls and kernels
}

// --- devices

TEST_F(GpuTest, ADeviceWithoutPropertiesIsShownWithoutFigures) {
  active(kT, kT + 100'000);
  b.kernel(1, "k", kT + 10'000, kT + 11'000, at(0, 7, 2));
  b.kernel(1, "nowhere", kT + 20'000, kT + 21'000, at(0, 7, 64));
  b.memory(kPid, 1, kT + 1000, 64, 64, 0, kCudaDeviceType, 3);
  Json t = convert();
  auto kernels = of(t, "kernel");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0]["pid"], 2);
  EXPECT_FALSE(kernels[0]["args"].contains("blocks per SM"));
  EXPECT_FALSE(kernels[0]["args"].contains("est. achieved occupancy %"));
  EXPECT_EQ(t["deviceProperties"].size(), 4u);  // the memory event's too
  EXPECT_EQ(t["deviceProperties"][2], (Json{{"id", 2}, {"name", "unknown"}}));
  EXPECT_EQ(t["tprof"]["dropped"]["gpu_bad_device"], 1);
}

TEST_F(GpuTest, DevicePropertiesHaveKinetosNames) {
  active(kT, kT + 100'000);
  b.range(kPid, 1, "op", kT + 10'000, kT + 11'000);
  Json expected = {{"id", 0},
                   {"name", "NVIDIA H100 80GB HBM3"},
                   {"totalGlobalMem", 85'045'411'840},
                   {"computeMajor", 9},
                   {"computeMinor", 0},
                   {"maxThreadsPerBlock", 1024},
                   {"maxThreadsPerMultiprocessor", 2048},
                   {"regsPerBlock", 65536},
                   {"warpSize", 32},
                   {"sharedMemPerBlock", 49152},
                   {"numSms", 132},
                   {"regsPerMultiprocessor", 65536},
                   {"sharedMemPerBlockOptin", 232448},
                   {"sharedMemPerMultiprocessor", 233472}};
  EXPECT_EQ(convert()["deviceProperties"], Json::array({expected}));
}

// --- calls

TEST_F(GpuTest, ACallSeenByBothIsOne) {
  active(kT, kT + 1'000'000);
  CallRecord ours{};
  ours.bytes = 4096;
  ours.stream = 0x1234;
  ours.result = 0;
  b.call(kPid, 1, "cudaMemcpyAsync", kT + 1000, kT + 9000, CallFamily::copy, ours);
  b.api(1, kPid, "cudaMemcpyAsync_v3020", kT + 1100, kT + 8900, 3, 41);
  b.call(kPid, 1, "cudaMalloc", kT + 10'000, kT + 12'000, CallFamily::alloc, ours);  // ours alone
  b.api(1, kPid, "cudaGetDevice_v3020", kT + 13'000, kT + 13'100, 4, 17);            // CUPTI's alone
  b.api(1, kPid + 1, "cudaMemcpyAsync_v3020", kT + 1100, kT + 8900, 5, 41);          // another thread's
  Model m = build();
  ASSERT_EQ(m.calls.size(), 4u);
  const CallEvent* both = nullptr;
  for (const CallEvent& c : m.calls)
    if (c.seen == (kSeenByUs | kSeenByCupti)) both = &c;
  ASSERT_TRUE(both);
  EXPECT_EQ(both->correlation, 3u);
  EXPECT_EQ(both->cbid, 41u);
  EXPECT_EQ(both->begin_ns - m.begin_ns, 1100);
  EXPECT_EQ(both->dur_ns, 7800);
  EXPECT_EQ(both->bytes, 4096u);
  EXPECT_EQ(both->stream, 0x1234u);
  EXPECT_EQ(m.ledger.gpu.calls_by_both, 1u);
  EXPECT_EQ(m.ledger.gpu.calls_by_us, 1u);
  EXPECT_EQ(m.ledger.gpu.calls_by_cupti, 2u);
}

TEST_F(GpuTest, CallsInQuickSuccessionFindTheirOwnRecords) {
  active(kT, kT + 1'000'000);
  // 300 ns each, 100 ns apart; CUPTI's clock is 150 ns behind; it missed the third.
  for (u32 i = 0; i < 100; i++) {
    u64 begin = kT + 1000 + i * 400;
    CallRecord ours{};
    ours.bytes = 1000 + i;
    b.call(kPid, 1, "cudaLaunchKernel", begin, begin + 300, CallFamily::launch, ours);
    if (i != 2) b.api(1, kPid, "cudaLaunchKernel_v7000", begin + 170, begin + 430, 1000 + i);
  }
  Model m = build();
  EXPECT_EQ(m.calls.size(), 100u);
  for (const CallEvent& c : m.calls)
    if (c.bytes == 1002)
      EXPECT_EQ(c.correlation, 0u);
    else
      EXPECT_EQ(c.correlation, c.bytes);
}

TEST_F(GpuTest, DriverCallsInsideARuntimeCallAreLeftOut) {
  active(kT, kT + 1'000'000);
  b.api(1, kPid, "cudaLaunchKernel_v7000", kT + 1000, kT + 9000, 3);
  b.api(1, kPid, "cuLaunchKernel", kT + 2000, kT + 8000, 3, 307 | kApiDriver);
  b.api(1, kPid, "cuLaunchKernel", kT + 12'000, kT + 18'000, 4, 307 | kApiDriver);
  b.api(1, kPid, "cuMemCreate", kT + 22'000, kT + 28'000, 5, 600 | kApiDriver);
  b.kernel(1, "triton", kT + 20'000, kT + 21'000, at(4));
  Json t = convert();
  auto runtime = of(t, "cuda_runtime"), driver = of(t, "cuda_driver");
  ASSERT_EQ(runtime.size(), 2u);
  EXPECT_EQ(runtime[0]["name"], "cudaLaunchKernel");
  EXPECT_EQ(runtime[1]["name"], "cuLaunchKernel");  // a launch: the plugin needs it as a runtime call
  ASSERT_EQ(driver.size(), 1u);
  EXPECT_EQ(driver[0]["name"], "cuMemCreate");
  EXPECT_EQ(t["tprof"]["gpu"]["inner_calls"], 1);
}

TEST(Calls, NamesWithoutWhatHeadersAndCuptiAdd) {
  EXPECT_EQ(shown_function("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(shown_function("cudaLaunchKernel_ptsz_v7000"), "cudaLaunchKernel_ptsz");
  EXPECT_EQ(shown_function("cuMemAlloc_v2"), "cuMemAlloc_v2");
  EXPECT_EQ(shown_function("__cudaLaunchKernel_v13000"), "__cudaLaunchKernel");
  EXPECT_EQ(plain_function("cudaLaunchKernel_ptsz_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(plain_function("cuMemAlloc_v2"), "cuMemAlloc");
  EXPECT_EQ(plain_function("_v12345"), "_v12345");
  EXPECT_EQ(plain_function("cudaMalloc"), "cudaMalloc");
  EXPECT_EQ(plain_function(""), "");
}

// A record written at the call's begin may lie in an earlier chunk than its end, or never get one.
TEST_F(GpuTest, ACallEndsWithItsRangeEndOrIsMarked) {
  active(kT, kT + 1000'000);
  RecordRef ref = b.call(5, 1, "cudaMalloc", kT + 100'000, 0, CallFamily::other);
  b.range_end(5, 1, ref, kT + 250'000);
  b.call(6, 1, "cudaFree", kT + 600'000, 0, CallFamily::other);
  std::vector<Json> calls = of(convert(), "cuda_runtime");
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_DOUBLE_EQ(calls[0]["dur"], 150);
  EXPECT_FALSE(calls[0]["args"].contains("tprof"));
  EXPECT_DOUBLE_EQ(calls[1]["dur"], 400);
  EXPECT_EQ(calls[1]["args"]["tprof"], "clipped at window end");
}

TEST_F(GpuTest, FailedCallsShowTheirResult) {
  active(kT, kT + 1'000'000);
  CallRecord failed{};
  failed.result = 2;
  b.call(kPid, 1, "cudaMalloc", kT + 1000, kT + 9000, CallFamily::alloc, failed);
  EXPECT_EQ(of(convert(), "cuda_runtime").at(0)["args"]["result"], 2);
}

TEST_F(GpuTest, ACallIntoNcclIsARangeOfItsThread) {
  active(kT, kT + 1'000'000);
  b.call(kPid, 1, "ncclAllReduce", kT + 1000, kT + 20'000, CallFamily::nccl);
  b.api(1, kPid, "cudaLaunchKernelExC_v11060", kT + 5000, kT + 9000, 3);
  b.kernel(1, "ncclDevKernel_AllReduce", kT + 10'000, kT + 15'000, at(3));
  Model m = build();
  ASSERT_EQ(m.calls.size(), 1u);
  ASSERT_EQ(m.gpu.size(), 1u);
  EXPECT_EQ(m.name_of(m.events[size_t(m.gpu[0].op)]), "ncclAllReduce");
}

// --- attribution

TEST_F(GpuTest, TheInnermostOperatorOfTheThreadCounts) {
  active(kT, kT + 1'000'000);
  constexpr u32 kAutograd = kPid + 1;
  b.step(0, kT + 100, kT + 900'000);
  b.range(kPid, 1, "aten::outer", kT + 1000, kT + 100'000);
  b.range(kPid, 1, "my label", kT + 2000, kT + 90'000, {.scope = Scope::user});
  b.range(kPid, 1, "nccl:all_reduce", kT + 40'000, kT + 60'000, {.scope = Scope::user});
  b.range(kPid, 1, "alone", kT + 200'000, kT + 300'000, {.scope = Scope::user});
  b.range(kAutograd, 1, "MulBackward0", kT + 1000, kT + 100'000, {.scope = Scope::backward});
  struct Case {
    u32 tid;
    u64 begin;
    const char* op;
  } cases[] = {{kPid, 5000, "aten::outer"},                               // under a label: the operator around it
               {kPid, 45'000, "nccl:all_reduce"},                         // readers find communication by this id
               {kPid, 210'000, "alone"},                                  // no operator around: the label
               {kPid, 400'000, "ProfilerStep#0"},                         // nothing but the step
               {kAutograd, 5000, "MulBackward0"}, {kPid + 2, 5000, ""}};  // a thread without ranges
  u32 correlation = 0;
  for (const Case& c : cases) {
    b.api(1, c.tid, "cudaLaunchKernel", kT + c.begin, kT + c.begin + 1000, ++correlation);
    b.kernel(1, c.op, kT + 500'000 + correlation * 1000, kT + 500'500 + correlation * 1000, at(correlation));
  }
  Model m = build();
  ASSERT_EQ(m.gpu.size(), std::size(cases));
  for (size_t i = 0; i < std::size(cases); i++) {
    i32 op = m.gpu[i].op;
    EXPECT_EQ(op < 0 ? "" : m.name_of(m.events[size_t(op)]), cases[i].op);
    EXPECT_EQ(op, m.calls[m.gpu[i].call].op);
  }
}

TEST_F(GpuTest, ACallDoesNotCrossTheRangeItLiesIn) {
  active(kT, kT + 1'000'000);
  b.range(kPid, 1, "op", kT + 1000, kT + 10'000);
  b.api(1, kPid, "cudaLaunchKernel", kT + 990, kT + 10'020, 1);  // by another clock
  Model m = build();
  ASSERT_EQ(m.calls[0].op, 0);
  EXPECT_EQ(m.calls[0].begin_ns, m.events[0].begin_ns);
  EXPECT_EQ(m.calls[0].end_ns(), m.events[0].end_ns());
}

TEST_F(GpuTest, ExternalIdsAreNoCorrelations) {
  active(kT, kT + 1'000'000);
  for (u32 i = 1; i <= 5; i++) {
    b.range(kPid, 1, "op", kT + i * 10'000, kT + i * 10'000 + 5000);
    b.api(1, kPid, "cudaLaunchKernel", kT + i * 10'000 + 100, kT + i * 10'000 + 200, i);
    b.kernel(1, "k", kT + i * 10'000 + 300, kT + i * 10'000 + 400, at(i));
  }
  Json t = convert();
  std::set<i64> ids, correlations;
  for (const Json& e : of(t, "cpu_op")) ids.insert(e["args"]["External id"].get<i64>());
  for (const Json& e : of(t, "cuda_runtime")) {
    correlations.insert(e["args"]["correlation"].get<i64>());
    EXPECT_TRUE(ids.count(e["args"]["External id"].get<i64>()));
  }
  EXPECT_EQ(ids.size(), 5u);
  for (i64 id : ids) EXPECT_FALSE(correlations.count(id));
}

// --- graphs, waits and the rest

TEST_F(GpuTest, EveryNodeOfAGraphHasAnArrowOfItsOwn) {
  active(kT, kT + 1'000'000);
  b.range(kPid, 1, "aten::mm", kT + 1000, kT + 2000, {.sequence = 1});
  b.range(kPid, 1, "MmBackward0", kT + 3000, kT + 4000, {.scope = Scope::backward, .sequence = 1, .forward_thread = 1});
  b.range(kPid, 1, "graph replay", kT + 10'000, kT + 20'000);
  b.api(1, kPid, "cudaGraphLaunch_v10000", kT + 11'000, kT + 12'000, 5);
  KernelRecord node{};
  node.graph = 3;
  for (u32 i = 0; i < 3; i++) {
    node.graph_node = 100 + i;
    b.kernel(1, "node", kT + 20'000 + i * 1000, kT + 20'500 + i * 1000, at(5), node);
  }
  Json t = convert();
  std::set<i64> ids;
  for (const char* phase : {"s", "f"}) {
    auto arrows = of(t, "ac2g", phase);
    EXPECT_EQ(arrows.size(), 3u);
    for (const Json& e : arrows) ids.insert(e["id"].get<i64>());
  }
  for (const Json& e : of(t, "fwdbwd", "s")) ids.insert(e["id"].get<i64>());
  EXPECT_EQ(ids.size(), 4u);
  auto kernels = of(t, "kernel");
  EXPECT_EQ(kernels.at(1)["args"]["graph id"], 3);
  EXPECT_EQ(kernels.at(1)["args"]["graph node id"], 101);
  EXPECT_EQ(kernels.at(1)["args"]["External id"], of(t, "cpu_op").back()["args"]["External id"]);
}

TEST_F(GpuTest, AGraphLaunchedAsOneIsShownAsAKernel) {
  active(kT, kT + 1'000'000);
  b.api(1, kPid, "cudaGraphLaunch_v10000", kT + 11'000, kT + 12'000, 5);
  b.gpu(1, Kind::graph, 8, GraphRecord{{}, b.wall(kT + 20'000), b.wall(kT + 30'000), at(5)});
  Json t = convert();
  EXPECT_EQ(of(t, "kernel").at(0)["name"], "CUDA graph 8");
  EXPECT_EQ(t["tprof"]["gpu"]["graphs"], 1);
}

TEST_F(GpuTest, WaitsSayWhatTheyWaitFor) {
  active(kT, kT + 1'000'000);
  b.context(4, 0, 7);
  auto mark = [&](u32 event, u32 correlation, u32 stream, u32 number, u64 device_ns) {
    b.gpu(1, Kind::gpu_event, event, GpuEventRecord{{}, {kNone, 4, stream, correlation}, device_ns, number, 0});
  };
  auto wait = [&](u32 kind, u32 correlation, u32 stream, u32 event, u32 number) {
    SyncRecord r{{},
                 b.wall(kT + 1000 * correlation),
                 b.wall(kT + 1000 * correlation + 100),
                 {kNone, 4, stream, correlation},
                 event,
                 number};
    b.gpu(1, Kind::sync, kind, r);
  };
  mark(1, 10, 7, 0, 0);
  mark(1, 20, 13, 0, 0);
  mark(2, 22, 14, 77, b.wall(kT + 22'500));
  wait(2, 15, 20, 1, 0);     // the recording before it
  wait(1, 25, kNone, 1, 0);  // the one that came in between
  wait(2, 30, 20, 9, 77);    // by CUPTI's number
  wait(3, 35, 7, 0, 0);
  Json t = convert();
  auto waits = of(t, "cuda_sync");
  ASSERT_EQ(waits.size(), 4u);
  EXPECT_EQ(waits[0]["name"], "Stream Wait Event");
  EXPECT_EQ(waits[0]["pid"], 0);
  EXPECT_EQ(waits[0]["args"]["wait_on_stream"], 7);
  EXPECT_EQ(waits[0]["args"]["wait_on_cuda_event_record_corr_id"], 10);
  EXPECT_EQ(waits[1]["name"], "Event Sync");
  EXPECT_EQ(waits[1]["args"]["wait_on_cuda_event_record_corr_id"], 20);
  EXPECT_EQ(waits[1]["args"]["stream"], -1);
  EXPECT_EQ(waits[2]["args"]["wait_on_stream"], 14);
  EXPECT_EQ(waits[3]["name"], "Stream Sync");
  EXPECT_FALSE(waits[3]["args"].contains("wait_on_stream"));
  auto marks = of(t, "cuda_event");
  ASSERT_EQ(marks.size(), 1u);  // only where the device's time is known
  EXPECT_EQ(marks[0]["args"]["event_id"], 2);
}

TEST_F(GpuTest, CopiesHaveKinetosNamesAndBandwidth) {
  active(kT, kT + 1'000'000);
  b.copy(1, 1, 1, 3, kT + 1000, kT + 2000, at(0), 25'000);
  b.copy(1, 8, 3, 3, kT + 3000, kT + 3000, at(0), 64);
  b.copy(1, 200, 99, 250, kT + 4000, kT + 5000, at(0), 64);
  CopyRecord between{{}, b.wall(kT + 6000), b.wall(kT + 7000), at(0), 1000, 0, 0, 0, 1, 0};
  b.gpu(1, Kind::copy, 10 | 3 << 8 | 3 << 16, between);
  auto copies = of(convert(), "gpu_memcpy");
  ASSERT_EQ(copies.size(), 4u);
  EXPECT_EQ(copies[0]["name"], "Memcpy HtoD (Pageable -> Device)");
  EXPECT_EQ(copies[0]["args"]["memory bandwidth (GB/s)"], 25.0);
  EXPECT_EQ(copies[1]["name"], "Memcpy DtoD (Device -> Device)");
  EXPECT_FALSE(copies[1]["args"].contains("memory bandwidth (GB/s)"));
  EXPECT_EQ(copies[2]["name"], "Memcpy <unknown> (Unrecognized -> Unrecognized)");
  EXPECT_EQ(copies[3]["name"], "Memcpy PtoP (Device -> Device)");
  EXPECT_EQ(copies[3]["args"]["toDevice"], 1);
}

TEST_F(GpuTest, AProgramWithoutOperatorsIsOneStep) {
  active(kT, kT + 1'000'000);
  b.call(kPid, 1, "cudaLaunchKernel", kT + 1000, kT + 2000, CallFamily::launch);
  b.api(1, kPid, "cudaLaunchKernel_v7000", kT + 1100, kT + 1900, 1);
  b.kernel(1, "k", kT + 3000, kT + 9000, at(1));
  b.call(kPid, 1, "cudaDeviceSynchronize", kT + 4000, kT + 10'000, CallFamily::sync);
  Json t = convert();
  EXPECT_EQ(t["tprof"]["step"]["confidence"], "none");
  auto steps = of(t, "user_annotation");
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0]["name"], "ProfilerStep#0");
  EXPECT_NEAR(steps[0]["dur"].get<double>(), 8.9, 0.11);
  EXPECT_EQ(of(t, "kernel").at(0)["args"]["External id"], steps[0]["args"]["External id"]);
}

TEST_F(GpuTest, HostileKernelsMakeAValidTrace) {
  active(kT, kT + 1'000'000);
  KernelRecord k{};
  memset(static_cast<void*>(&k), 0xff, sizeof k);
  k.begin_ns = b.wall(kT + 1000);
  k.end_ns = b.wall(kT + 2000);
  k.place = {0, ~0u, ~0u, ~0u};
  b.gpu(1, Kind::kernel, b.name("_ZNK"), k);
  k.grid[0] = k.grid[1] = k.grid[2] = INT32_MAX;
  k.block[0] = k.block[1] = k.block[2] = INT32_MAX;
  b.gpu(1, Kind::kernel, b.name(std::string(10'000, 'x') + "\"\x01\xff"), k);
  DeviceRecord odd{};
  memset(static_cast<void*>(&odd), 0xff, sizeof odd);
  b.device(1, odd);
  k.place.device = 1;
  b.gpu(1, Kind::kernel, b.name("ProfilerStep#"), k);
  EXPECT_EQ(of(convert(), "kernel").size(), 3u);
}

}  // namespace
}  // namespace tprof
