// Collectives on the CPU: which operator, which label of gloo, which group, which number.
#include "model/collectives.h"

#include <gtest/gtest.h>

#include "model/build.h"
#include "recording_builder.h"

namespace tprof {
namespace {

using namespace test;

constexpr u64 kT = kStart;
constexpr u64 kWorld = 0x1000, kPair = 0x2000;
constexpr u32 kWorker = 77, kOther = 78;  // threads of gloo
constexpr u8 kFloat = 6;

class CollectivesTest : public testing::Test {
 protected:
  void groups(i64 world_sequence = 10, i64 pair_sequence = 0) {
    b.group(kWorld, kT + 1, world_sequence, "0", "[0, 1, 2, 3]", 4);
    b.group(kPair, kT + 2, pair_sequence, "1", "[0, 1]", 2);
  }
  void all_reduce(u64 at, u64 group, u32 elements, i8 async = -1) {
    Inputs inputs;
    inputs.tensor_list(1).tensor(kFloat, {elements}, {1}).object(group).object(0x9999).none();
    if (async >= 0) inputs.boolean(async);
    inputs.integer(-1);
    b.range(kPid, 1, "c10d::allreduce_", kT + at, kT + at + 20, {.inputs = &inputs});
  }
  void label(const char* name, u64 begin, u64 end, std::vector<u32> elements, u32 tid = kWorker) {
    Inputs inputs;
    for (u32 each : elements) inputs.tensor(kFloat, {each}, {1});
    b.range(tid, 1, name, kT + begin, kT + end, {.scope = Scope::user, .flags = kRangeAsync, .inputs = &inputs});
  }
  const Model& build() {
    b.window(0, WindowState::sealed, 0, -1, kT, kT, kT + 100'000);
    b.write(dir.path + "/r.tprof");
    recording = Recording::open(dir.path + "/r.tprof");
    Meta meta = recording->read_meta();
    model = build_model(*recording, meta, request_of(meta.windows.at(0), meta));
    return model;
  }
  const std::string& text(u32 name) const { return model.names[name]; }
  i64 wire_ns(size_t i) const { return model.events[model.collectives[i].wire].begin_ns - model.begin_ns; }

  TempDir dir;
  RecordingBuilder b;
  std::unique_ptr<Recording> recording;
  Model model;
};

TEST_F(CollectivesTest, AnOperatorSaysGroupSizesAndNumber) {
  groups();
  all_reduce(100, kWorld, 12, 1);
  label("gloo:all_reduce", 130, 300, {12});
  build();
  ASSERT_EQ(model.collectives.size(), 1u);
  const Collective& c = model.collectives[0];
  EXPECT_EQ(text(c.name), "allreduce");
  EXPECT_EQ(text(c.dtype), "Float");
  EXPECT_EQ(text(c.group), "0");
  EXPECT_EQ(text(c.group_ranks), "[0, 1, 2, 3]");
  EXPECT_EQ(c.in_elements, 12);
  EXPECT_EQ(c.out_elements, 12);
  EXPECT_EQ(c.group_size, 4);
  EXPECT_EQ(c.sequence, 11);
  EXPECT_EQ(c.async, 1);
  EXPECT_EQ(wire_ns(0), 130);
}

TEST_F(CollectivesTest, LabelsAreTakenInOrderByTheThreadsOfTheGroup) {
  groups();
  all_reduce(100, kPair, 8);  // 1: known for its size
  label("gloo:all_reduce", 120, 130, {8}, kOther);
  all_reduce(200, kWorld, 4);  // 2 and 3 are alike
  all_reduce(300, kPair, 4);
  label("gloo:all_reduce", 350, 400, {4}, kOther);  // the pair's is carried out before
  label("gloo:all_reduce", 500, 600, {4}, kWorker);
  build();
  ASSERT_EQ(model.collectives.size(), 3u);
  EXPECT_EQ(wire_ns(1), 500);
  EXPECT_EQ(wire_ns(2), 350);
  EXPECT_EQ(model.collectives[0].sequence, 1);
  EXPECT_EQ(model.collectives[1].sequence, 11);
  EXPECT_EQ(model.collectives[2].sequence, 2);
}

TEST_F(CollectivesTest, WhatFollowsAReduceScatterIsNoPartOfIt) {
  groups();
  Inputs inputs;
  inputs.tensor(kFloat, {2}, {1}).tensor(kFloat, {8}, {1}).object(kWorld).object(1).boolean(false).integer(-1);
  b.range(kPid, 1, "c10d::_reduce_scatter_base_", kT + 100, kT + 120, {.inputs = &inputs});
  label("gloo:all_reduce", 130, 140, {8});
  all_reduce(170, kWorld, 8);
  label("gloo:all_reduce", 200, 210, {8});
  build();
  ASSERT_EQ(model.collectives.size(), 2u);
  EXPECT_EQ(model.collectives[0].in_elements, 8);
  EXPECT_EQ(model.collectives[0].out_elements, 2);
  EXPECT_EQ(model.collectives[0].async, 0);
  EXPECT_EQ(wire_ns(0), 130);
  EXPECT_EQ(wire_ns(1), 200);
}

TEST_F(CollectivesTest, ACoalescedReduceScatterIsAnAllReduceOfEachTensor) {
  groups();
  Inputs inputs;
  inputs.tensor_list(2).tensor(kFloat, {2}, {1}).tensor(kFloat, {3}, {1});
  inputs.tensor_list(2).tensor(kFloat, {8}, {1}).tensor(kFloat, {12}, {1});
  inputs.object(kWorld).object(1).boolean(true).integer(-1);
  b.range(kPid, 1, "c10d::reduce_scatter_tensor_coalesced_", kT + 100, kT + 120, {.inputs = &inputs});
  all_reduce(125, kWorld, 5);
  label("gloo:all_reduce", 130, 190, {12}, kWorker);  // in any order, also after the next call; it ends last
  label("gloo:all_reduce", 131, 180, {8}, kOther);
  label("gloo:all_reduce", 181, 200, {5}, kOther);
  build();
  ASSERT_EQ(model.collectives.size(), 2u);
  EXPECT_EQ(model.collectives[0].in_elements, 20);
  EXPECT_EQ(wire_ns(0), 130);
  EXPECT_EQ(wire_ns(1), 181);
  EXPECT_EQ(model.collectives[0].sequence, 11);
  EXPECT_EQ(model.collectives[1].sequence, 12);
}

TEST_F(CollectivesTest, AReduceScatterOfAListIsAnAllReduceForEachRank) {
  groups();
  Inputs inputs;
  inputs.tensor_list(1).tensor(kFloat, {4}, {1}).none().object(kPair).object(1).boolean(false).integer(-1);
  b.range(kPid, 1, "c10d::reduce_scatter_", kT + 100, kT + 120, {.inputs = &inputs});
  for (u64 at : {130, 140}) label("gloo:all_reduce", at, at + 50, {4});
  all_reduce(200, kPair, 4);
  label("gloo:all_reduce", 220, 230, {4});
  build();
  ASSERT_EQ(model.collectives.size(), 2u);
  EXPECT_EQ(model.collectives[0].in_elements, 8);
  EXPECT_EQ(wire_ns(0), 140);
  EXPECT_EQ(wire_ns(1), 220);
}

TEST_F(CollectivesTest, AMonitoredBarrierIsOneCallHoweverItIsMade) {
  groups();
  Inputs inputs;
  inputs.object(kWorld).integer(1000).boolean(true);
  b.range(kPid, 1, "c10d::monitored_barrier_", kT + 100, kT + 200, {.inputs = &inputs});
  for (u64 at : {110, 130}) label("gloo:recv", at, at + 10, {1}, kPid);
  build();
  ASSERT_EQ(model.collectives.size(), 1u);
  EXPECT_EQ(text(model.collectives[0].name), "monitored_barrier");
  EXPECT_EQ(model.collectives[0].wire, model.collectives[0].op);
  EXPECT_EQ(model.collectives[0].async, 0);
}

TEST_F(CollectivesTest, ListsOfListsFollowFromTheOtherSide) {
  groups();
  Inputs inputs;
  inputs.none().tensor_list(1).tensor(kFloat, {6}, {1}).object(kWorld).integer(-1);
  b.range(kPid, 1, "c10d::allgather_", kT + 100, kT + 120, {.inputs = &inputs});
  build();
  ASSERT_EQ(model.collectives.size(), 1u);
  EXPECT_EQ(model.collectives[0].in_elements, 6);
  EXPECT_EQ(model.collectives[0].out_elements, 24);
  EXPECT_EQ(model.collectives[0].wire, kNone);
}

TEST_F(CollectivesTest, WhereTorchCountedOtherwiseNothingIsNumbered) {
  groups(10);
  all_reduce(100, kWorld, 4);
  b.group(kWorld, kT + 200, 13, "0", "[0, 1, 2, 3]", 4);  // two more than were seen
  all_reduce(300, kWorld, 4);
  build();
  for (const Collective& c : model.collectives) EXPECT_EQ(c.sequence, -1);
}

TEST_F(CollectivesTest, SizesThatCannotBeAreNotKnown) {
  groups();
  const std::vector<i64> all[] = {{-3, -5}, {i64(1) << 40, 1 << 9}, {INT64_MAX, 0}, {1 << 20, 1 << 20}};
  for (const std::vector<i64>& sizes : all) {
    Inputs inputs;
    inputs.tensor_list(1).wide_tensor(kFloat, sizes, {1, 1}).object(kWorld).object(0x9999).none().integer(-1);
    u64 at = kT + 100 * u64(&sizes - all + 1);
    b.range(kPid, 1, "c10d::allreduce_", at, at + 20, {.inputs = &inputs});
  }
  build();
  ASSERT_EQ(model.collectives.size(), 4u);
  for (size_t i = 0; i < 3; i++) EXPECT_EQ(model.collectives[i].in_elements, -1);
  EXPECT_EQ(model.collectives[3].in_elements, i64(1) << 40);
}

TEST_F(CollectivesTest, ADamagedCountNumbersNothing) {
  groups(INT64_MAX);
  all_reduce(100, kWorld, 12);
  all_reduce(400, kWorld, 12);
  label("gloo:all_reduce", 130, 300, {12});
  label("gloo:all_reduce", 430, 600, {12});
  build();
  ASSERT_EQ(model.collectives.size(), 2u);
  for (const Collective& c : model.collectives) EXPECT_EQ(c.sequence, -1);
}

TEST_F(CollectivesTest, ATransferHasAPeerAndLeavesTheGroupWithoutNumbers) {
  groups();
  all_reduce(100, kWorld, 4);
  Inputs inputs;
  inputs.tensor_list(1).tensor(kFloat, {5}, {1}).object(kWorld).integer(3).integer(0);
  b.range(kPid, 1, "c10d::send", kT + 200, kT + 240, {.inputs = &inputs});
  label("gloo:send", 210, 260, {5}, kPid);
  build();
  ASSERT_EQ(model.collectives.size(), 2u);
  EXPECT_EQ(model.collectives[1].peer, 3);
  EXPECT_EQ(wire_ns(1), 210);
  EXPECT_EQ(model.collectives[0].sequence, -1);
  EXPECT_EQ(model.collectives[1].sequence, -1);
}

TEST_F(CollectivesTest, TheProgramWaitedUnlessItWentOn) {
  groups();
  all_reduce(100, kWorld, 4);
  label("gloo:all_reduce", 110, 200, {4});
  b.range(kPid, 1, "aten::mm", kT + 210, kT + 220);
  all_reduce(300, kWorld, 4);
  b.range(kPid, 1, "aten::mm", kT + 330, kT + 340);
  label("gloo:all_reduce", 310, 400, {4});
  build();
  EXPECT_EQ(model.collectives[0].async, 0);
  EXPECT_EQ(model.collectives[1].async, 1);
}

TEST_F(CollectivesTest, ALabelWithoutAnOperatorIsACollective) {
  b.group(kWorld, kT + 1, 5, "0", "[0, 1]", 2);
  label("gloo:all_to_all", 100, 200, {3, 3});
  build();
  ASSERT_EQ(model.collectives.size(), 1u);
  EXPECT_EQ(text(model.collectives[0].name), "all_to_all");
  EXPECT_EQ(model.collectives[0].in_elements, 6);
  EXPECT_EQ(model.collectives[0].sequence, -1);  // other calls may have been made before it began
  EXPECT_EQ(text(model.collectives[0].group), "0");
}

}  // namespace
}  // namespace tprof
