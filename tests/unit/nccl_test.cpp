// NCCL's operations: calls of interposed functions, what its profiler interface reports, and kernels -> collectives.
#include "model/nccl.h"

#include <gtest/gtest.h>

#include "analysis/ranks/collective_calls.h"
#include "model/build.h"
#include "recording_builder.h"

namespace tprof {
namespace {

using namespace test;

constexpr u64 kT = kStart;

class NcclTest : public testing::Test {
 protected:
  struct OnComm {
    CallRecord call;
    NcclPart part;
  };

  void call(const std::string& function, u64 begin, u64 end) {
    b.call(kPid, 1, function, kT + begin, kT + end, CallFamily::nccl);
  }
  // Of 100 floats by rank 1 of 4.
  void operation(const std::string& function, u64 begin, u64 end, i64 number, i32 peer = -1, u64 group = 0xabc) {
    OnComm r{};
    r.call.head = {u16(Kind::call), 0, b.name_id(function)};
    r.call.begin_ticks = kT + begin;
    r.call.end_ticks = kT + end;
    r.call.bytes = 100;
    r.call.family = u8(CallFamily::nccl);
    r.call.flags = kCallAsync | kCallOnComm;
    r.call.detail = 7;
    r.part = {group, number, peer, 1, 4, 0};
    b.record(kPid, 1, r);
  }
  void kernel(const std::string& name, u64 begin, u64 end, u32 correlation, u64 launched) {
    b.api(1, kPid, "cudaLaunchKernelExC_v11060", kT + launched, kT + launched + 100, correlation);
    b.kernel(1, name, kT + begin, kT + end, {0, 1, 7, correlation});
  }
  void report(u32 id, u64 at, u8 function, u64 count, u64 number = 0, i32 peer = -1) {
    NcclOpRecord r{{u16(Kind::nccl_op), 0, id}, kT + at, 0x77, number, count, peer, 1, 4, function, 7, 1, 2};
    b.record(kPid, 1, r);
  }
  void wire(u32 id, u64 begin, u64 end) {
    NcclWireRecord r{{u16(Kind::nccl_wire), 0, id}, kT + begin, kT + end, 2, 4, 65536, 0, 1, 0};
    b.record(kPid, 1, r);
  }
  const Model& build() {
    b.device(0, an_h100());
    b.window(0, WindowState::sealed, 0, -1, kT, kT, kT + 1'000'000);
    std::string path = dir.path + "/r.tprof";
    b.write(path);
    recording = Recording::open(path);
    Meta meta = recording->read_meta();
    model = build_model(*recording, meta, request_of(meta.windows.at(0), meta));
    return model;
  }
  std::string text(u32 name) const { return model.names[name]; }
  CollectiveCalls calls() { return collective_calls(model, NameClasses(model), windows_of(model)); }

  TempDir dir;
  RecordingBuilder b;
  std::unique_ptr<Recording> recording;
  Model model;
};

TEST_F(NcclTest, ACallAndItsKernelAreOneCollective) {
  operation("ncclAllGather", 1000, 9000, 5);
  kernel("ncclDevKernel_AllGather_RING_LL", 20'000, 30'000, 3, 2000);
  build();
  ASSERT_EQ(model.collectives.size(), 1u);
  const Collective& c = model.collectives[0];
  EXPECT_EQ(c.gpu, 0u);
  EXPECT_EQ(text(c.name), "_allgather_base");
  EXPECT_EQ(text(c.dtype), "Float");
  EXPECT_EQ(text(c.group), "0000000000000abc");
  EXPECT_EQ(c.in_elements, 100);
  EXPECT_EQ(c.out_elements, 400);
  EXPECT_EQ(c.sequence, 5);
  EXPECT_EQ(c.group_size, 4);
  EXPECT_EQ(c.group_rank, 1);
}

TEST_F(NcclTest, OperationsOfAGroupShareItsKernelAndAreAllListed) {
  call("ncclGroupStart", 1000, 1100);
  operation("ncclSend", 2000, 2100, -1, 2);
  operation("ncclRecv", 3000, 3100, -1, 0);
  operation("ncclAllReduce", 4000, 4100, 9);
  call("ncclGroupEnd", 5000, 9000);
  kernel("ncclDevKernel_SendRecv", 20'000, 30'000, 3, 6000);
  kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 30'000, 40'000, 4, 7000);
  build();
  ASSERT_EQ(model.collectives.size(), 3u);
  CollectiveCalls found = calls();
  ASSERT_EQ(found.calls.size(), 3u);
  EXPECT_EQ(found.calls[0].op, "send");
  EXPECT_EQ(found.calls[0].peer, 2);
  EXPECT_EQ(found.calls[1].op, "recv");
  EXPECT_EQ(found.calls[1].dur_ns, found.calls[0].dur_ns);
  EXPECT_EQ(found.calls[2].op, "allreduce");
  EXPECT_EQ(found.calls[2].sequence, 9);
}

TEST_F(NcclTest, WithoutKernelsTheCallsAreListedAsCallsOnly) {
  operation("ncclAllReduce", 1000, 9000, 1);
  build();
  CollectiveCalls found = calls();
  ASSERT_EQ(found.calls.size(), 1u);
  EXPECT_FALSE(found.on_gpu);
  EXPECT_TRUE(found.calls[0].call_only);
  EXPECT_EQ(found.calls[0].bytes, 400);
}

TEST_F(NcclTest, ASimulatedGroupRunsNothing) {
  call("ncclGroupStart", 1000, 1100);
  operation("ncclAllReduce", 2000, 2100, 1);
  call("ncclGroupSimulateEnd", 3000, 3100);
  build();
  EXPECT_TRUE(model.collectives.empty());
}

TEST_F(NcclTest, AReportOfTheProfilerInterfaceIsTheCallThatWasSeen) {
  operation("ncclAllReduce", 1000, 9000, 1);
  kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 20'000, 90'000, 3, 2000);
  report(8, 1500, 0, 100);
  wire(8, 21'000, 51'000);
  wire(8, 41'000, 61'000);
  build();
  ASSERT_EQ(model.collectives.size(), 1u);
  EXPECT_EQ(text(model.collectives[0].group), "0000000000000abc");
  EXPECT_EQ(model.collectives[0].network_ns, 40'000);
}

TEST_F(NcclTest, SendsOfWhichNcclMakesAnAllToAllAreNotListed) {
  operation("ncclAlltoAll", 1000, 9000, 1);
  for (u32 i = 0; i < 4; i++) {
    report(10 + 2 * i, 1500 + i, 9, 100, 0, i32(i));
    report(11 + 2 * i, 1510 + i, 10, 100, 0, i32(i));
  }
  wire(10, 20'000, 30'000);
  wire(13, 25'000, 45'000);
  build();
  ASSERT_EQ(model.collectives.size(), 1u);
  EXPECT_EQ(text(model.collectives[0].name), "all_to_all");
  EXPECT_EQ(model.collectives[0].network_ns, 25'000);
}

TEST_F(NcclTest, AReportWithoutACallIsACollectiveOfItsOwn) {
  report(8, 1500, 0, 100, 6);
  kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 20'000, 90'000, 3, 2000);
  build();
  ASSERT_EQ(model.collectives.size(), 1u);
  const Collective& c = model.collectives[0];
  EXPECT_EQ(c.gpu, 0u);
  EXPECT_EQ(text(c.group), "0000000000000077");
  EXPECT_EQ(c.sequence, 7);
  EXPECT_EQ(c.network_ns, -1);
}

TEST_F(NcclTest, WhatNobodyKnowsIsCounted) {
  report(8, 1500, kNcclUnknown, 100);
  operation("ncclAllReduce", 3000, 4000, 1);
  build();
  EXPECT_EQ(model.collectives.size(), 1u);
  EXPECT_EQ(model.ledger.dropped["nccl_unknown"], 1u);
}

TEST_F(NcclTest, TorchsOperatorStandsForItsCalls) {
  b.range(kPid, 1, "c10d::allreduce_", kT + 500, kT + 20'000);
  operation("ncclAllReduce", 1000, 9000, 1);
  kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 30'000, 90'000, 3, 2000);
  build();
  ASSERT_EQ(model.collectives.size(), 1u);
  const Collective& c = model.collectives[0];
  EXPECT_EQ(model.name_of(model.events[c.op]), "c10d::allreduce_");
  EXPECT_EQ(c.gpu, 0u);
  EXPECT_EQ(c.group, 0u);  // torch's, which this recording does not have
  EXPECT_EQ(c.group_rank, 1);
}

TEST_F(NcclTest, HugeCountsAreNotMultiplied) {
  OnComm r{};
  r.call.head = {u16(Kind::call), 0, b.name_id("ncclAllGather")};
  r.call.begin_ticks = kT + 1000;
  r.call.end_ticks = kT + 2000;
  r.call.bytes = ~u64(0);
  r.call.family = u8(CallFamily::nccl);
  r.call.flags = kCallOnComm;
  r.part = {1, 1, -1, 0, 0xffffffff, 0};
  b.record(kPid, 1, r);
  build();
  ASSERT_EQ(model.collectives.size(), 1u);
  EXPECT_EQ(model.collectives[0].out_elements, -1);
}

}  // namespace
}  // namespace tprof
