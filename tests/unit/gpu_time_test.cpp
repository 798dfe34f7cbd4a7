// Analyses of GPU time: exposed, idle, launches, copies.
#include <gtest/gtest.h>

#include <random>

#include "analysis/copies.h"
#include "analysis/exposed.h"
#include "analysis/idle.h"
#include "analysis/launches.h"
#include "model_builder.h"

namespace tprof {
namespace {

std::vector<IdleLane> idle_of(const Model& model) {
  Words words(model);
  HostTimelines timelines(model, words);
  return idle(model, windows_of(model), timelines);
}

TEST(Exposed, CountsWhatNothingMoreUsefulHides) {
  ModelBuilder b;
  b.step(0, 100);
  b.kernel("gemm", 10, 30);
  b.kernel("ncclDevKernel_AllReduce", 20, 50, kNone, 20);
  b.copy(1, 2, 1000, 45, 60, kNone, 21);
  b.copy(1, 2, 1000, 15, 25, kNone, 21);
  Model model = b.model();
  std::vector<DeviceExposed> all = exposed(model, Words(model), windows_of(model));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].all.computation_ns, 20'000);
  EXPECT_EQ(all[0].all.exposed_communication_ns, 20'000);
  EXPECT_EQ(all[0].all.exposed_copies_ns, 10'000);
  EXPECT_EQ(all[0].all.idle_ns, 50'000);
  EXPECT_DOUBLE_EQ(all[0].all.overlap(), 1.0 / 3);
}

TEST(Exposed, AKernelLaunchedByACommunicationOperatorCommunicates) {
  ModelBuilder b;
  b.op("gloo:all_reduce", 0, 20);
  b.launch("my_reduction", 5, 10, 30);
  Model model = b.model();
  EXPECT_EQ(exposed(model, Words(model), windows_of(model))[0].all.exposed_communication_ns, 20'000);
}

TEST(Exposed, WithoutGpuWorkThereIsNoRow) {
  ModelBuilder b;
  b.step(0, 100);
  Model model = b.model();
  EXPECT_TRUE(exposed(model, Words(model), windows_of(model)).empty());
}

// The same, moment by moment.
TEST(Exposed, RandomTracesSumToTheSpanAndAgreeWithCountingMoments) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; round++) {
    ModelBuilder b;
    for (i64 s = 0; s < 4; s++) b.step(s * 50, s * 50 + 50);
    for (u32 n = random() % 40; n > 0; n--) {
      i64 begin = i64(random() % 220), end = begin + i64(random() % 30);
      u32 stream = random() % 4, device = random() % 2;
      switch (random() % 3) {
        case 0:
          b.kernel("gemm", begin, end, kNone, stream, device);
          break;
        case 1:
          b.kernel("ncclKernel", begin, end, kNone, stream, device);
          break;
        default:
          b.copy(1, 1, 10, begin, end, kNone, stream, device);
      }
    }
    Model model = b.model();
    Windows windows = windows_of(model);
    Words words(model);
    for (const DeviceExposed& row : exposed(model, words, windows)) {
      Exposed sum;
      for (size_t s = 0; s < windows.steps.size(); s++) {
        i64 counts[4] = {};
        for (i64 us = windows.steps[s].begin / 1000; us < windows.steps[s].end / 1000; us++) {
          bool on[3] = {};
          for (const GpuEvent& e : model.gpu)
            if (e.device == row.device && e.begin_ns <= us * 1000 && e.end_ns() > us * 1000)
              on[static_cast<u32>(words.work(e))] = true;
          counts[on[0] ? 0 : on[1] ? 1 : on[2] ? 2 : 3] += 1000;
        }
        const Exposed& step = row.steps[s];
        ASSERT_EQ(step.computation_ns, counts[0]);
        ASSERT_EQ(step.exposed_communication_ns, counts[1]);
        ASSERT_EQ(step.exposed_copies_ns, counts[2]);
        ASSERT_EQ(step.idle_ns, counts[3]);
        ASSERT_EQ(step.computation_ns + step.exposed_communication_ns + step.exposed_copies_ns + step.idle_ns,
                  step.span_ns);
        sum.idle_ns += step.idle_ns;
      }
      ASSERT_EQ(sum.idle_ns, row.all.idle_ns);
    }
  }
}

TEST(Idle, SaysWhatTheHostDidBeforeALateLaunch) {
  ModelBuilder b;
  b.step(0, 1000);
  b.launch("k1", 0, 10, 100);
  b.label("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 150, 450);
  b.op("aten::slow", 460, 600);
  b.op("aten::inside_loader", 200, 300);
  b.launch("k2", 590, 620, 700);
  Model model = b.model();
  IdleLane device = idle_of(model)[0];
  ASSERT_EQ(device.gaps.size(), 1u);
  EXPECT_EQ(device.gaps[0].cause, IdleCause::host_wait);
  EXPECT_EQ(device.gaps[0].most, Activity::data_loading);
  EXPECT_EQ(device.of(Activity::data_loading), 300'000);
  EXPECT_EQ(device.of(Activity::operating), 130'000);
  EXPECT_EQ(device.of(Activity::between), 60'000);  // 100..150 and 450..460: only the step is open
  EXPECT_EQ(device.launch_ns, 30'000);
  EXPECT_EQ(device.gaps[0].host_ns + device.launch_ns, device.gaps[0].length());
  EXPECT_EQ(model.names[device.reasons[0].name], "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
  EXPECT_EQ(device.busy_ns + device.idle_ns, 1'000'000);
  EXPECT_EQ(device.edges_ns, 310'000);
}

TEST(Idle, TellsHostFromKernelAndOtherWaits) {
  ModelBuilder b;
  b.step(0, 1000);
  b.launch("k1", 0, 10, 100);
  b.launch("k2", 20, 200, 300);  // launched in time, began late
  b.kernel("k3", 310, 400);      // no launch known
  Model model = b.model();
  model.gpu[1].begin_ns = 100'020;
  model.gpu[1].dur_ns = 199'980;
  IdleLane device = idle_of(model)[0];
  EXPECT_EQ(device.of(IdleCause::kernel_wait), 20);
  EXPECT_EQ(device.of(IdleCause::unknown), 10'000);
  model.gpu[1].begin_ns = 200'000;
  model.gpu[1].dur_ns = 100'000;
  device = idle_of(model)[0];
  EXPECT_EQ(device.of(IdleCause::other), 100'000);
  EXPECT_EQ(device.of(IdleCause::host_wait), 0);
}

TEST(Idle, AThreadWithoutWorkIsExcusedByTheMainThread) {
  ModelBuilder b;
  b.step(0, 1000);
  b.launch("k1", 0, 10, 100);
  b.op("aten::forward", 120, 380);
  b.op("MulBackward0", 400, 500, {}, 2);
  b.launch("k2", 420, 450, 500, 2);
  IdleLane device = idle_of(b.model())[0];
  EXPECT_EQ(device.of(Activity::operating), 260'000 + 20'000);
  EXPECT_EQ(device.of(Activity::between), 40'000);
  EXPECT_EQ(device.of(Activity::nothing), 0);
}

TEST(Idle, FindsTheCallThatDrainedTheQueue) {
  ModelBuilder b;
  b.step(0, 1000);
  b.launch("k1", 0, 10, 300);
  u32 sync = b.call("cudaStreamSynchronize", 20, 310);
  b.launch("k2", 400, 420, 500);
  IdleLane device = idle_of(b.model())[0];
  ASSERT_EQ(device.gaps.size(), 1u);
  EXPECT_EQ(device.gaps[0].sync, sync);
  EXPECT_EQ(device.of(Activity::synchronising), 10'000);
}

TEST(Idle, RandomTracesSumToTheWindow) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; round++) {
    ModelBuilder b;
    b.step(0, 500);
    for (u32 n = random() % 20; n > 0; n--) {
      i64 at = i64(random() % 480), begin = at + i64(random() % 30);
      b.launch("k", at, begin, begin + i64(random() % 40), 1 + random() % 2, random() % 3);
    }
    for (u32 n = random() % 10; n > 0; n--) {
      i64 at = i64(random() % 480);
      b.op("aten::op", at, at + i64(random() % 50), {}, 1 + random() % 2);
    }
    for (const IdleLane& lane : idle_of(b.model())) {
      i64 causes = lane.edges_ns, activities = lane.launch_ns, gaps = 0;
      for (i64 ns : lane.by_cause) causes += ns;
      for (i64 ns : lane.by_activity) activities += ns;
      for (const Gap& gap : lane.gaps) gaps += gap.length();
      ASSERT_EQ(causes, lane.idle_ns);
      ASSERT_EQ(activities, lane.of(IdleCause::host_wait));
      ASSERT_EQ(gaps + lane.edges_ns, lane.idle_ns);
    }
  }
}

TEST(Launches, MeasureDelaysShortWorkAndQueues) {
  ModelBuilder b;
  b.step(0, 1000);
  b.launch("long", 0, 10, 400);
  b.launch("late", 20, 400, 404);
  b.kernel("graph", 500, 520);
  u32 slow = b.call("cudaLaunchKernel", 600, 700);
  b.kernel("after", 705, 900, slow);
  Model model = b.model();
  Launches l = launches(model, windows_of(model));
  EXPECT_EQ(l.works, 3u);
  EXPECT_EQ(l.without_call, 1u);
  EXPECT_EQ(l.longest_delay_ns, 375'000);
  EXPECT_EQ(l.long_delays, 1u);
  EXPECT_EQ(l.short_works, 1u);
  EXPECT_EQ(l.shorter_than_launch, 1u);
  EXPECT_EQ(l.slow_calls, 1u);
  ASSERT_EQ(l.queues.size(), 1u);
  EXPECT_EQ(l.queues[0].longest, 1u);
  EXPECT_DOUBLE_EQ(l.queues[0].mean, (10 + 380 + 105) / 1000.0);
}

TEST(Launches, AFullQueueBlocks) {
  ModelBuilder b;
  b.step(0, 20000);
  for (i64 i = 0; i < 1026; i++) b.kernel("k", 9000 + i, 9000 + i, b.call("cudaLaunchKernel", i, i + 1));
  Model model = b.model();
  Queue q = launches(model, windows_of(model)).queues[0];
  EXPECT_EQ(q.longest, 1026u);
  EXPECT_EQ(q.blocked_calls, 2u);
  EXPECT_EQ(q.blocked_ns, 2'000);
  EXPECT_EQ(q.full_ns, (9002 - 1023) * 1000);
}

TEST(Copies, AreSummedByKindAndHostMemory) {
  ModelBuilder b;
  b.step(0, 1000);
  b.copy(1, 1, 1'000'000, 0, 100);
  b.copy(1, 1, 3'000'000, 200, 300);
  b.copy(1, 2, 1'000'000, 400, 450);
  b.copy(2, 2, 4, 500, 500);
  Model model = b.model();
  std::vector<Copies> rows = copies(model, windows_of(model));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].memory, HostMemory::pageable);
  EXPECT_DOUBLE_EQ(rows[0].gbps(), 20.0);
  EXPECT_DOUBLE_EQ(rows[0].slowest_gbps, 10.0);
  EXPECT_DOUBLE_EQ(rows[0].fastest_gbps, 30.0);
  EXPECT_EQ(rows[2].kind, CopyKind::to_host);
  EXPECT_EQ(rows[2].ns, kShortestCopyNs);
}

}  // namespace
}  // namespace tprof
