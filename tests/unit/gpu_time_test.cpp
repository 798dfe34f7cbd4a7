// Analyses of GPU time: exposed, idle, launches, copies.
#include <gtest/gtest.h>

#include <random>

#include "analysis/basis/copies.h"
#include "analysis/basis/launches.h"
#include "analysis/time/exposed.h"
#include "analysis/time/idle.h"
#include "model_builder.h"

namespace tprof {
namespace {

std::vector<IdleLane> idle_of(const Model& model) {
  NameClasses classes(model);
  Waits waits(model, classes);
  HostTimelines timelines(model, classes, waits);
  return idle(model, windows_of(model), timelines);
}

Launches launches_of(const Model& model) {
  return launches(model, windows_of(model), Waits(model, NameClasses(model)));
}

TEST(Exposed, CountsWhatNothingMoreUsefulHides) {
  ModelBuilder b;
  b.step(0, 100);
  b.kernel("gemm", 10, 30);
  b.kernel("ncclDevKernel_AllReduce", 20, 50, kNone, 20);
  b.copy(1, 2, 1000, 45, 60, kNone, 21);
  b.copy(1, 2, 1000, 15, 25, kNone, 21);
  Model model = b.model();
  std::vector<DeviceExposed> all = exposed(model, NameClasses(model), windows_of(model));
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
  EXPECT_EQ(exposed(model, NameClasses(model), windows_of(model))[0].all.exposed_communication_ns, 20'000);
}

TEST(Exposed, WithoutGpuWorkThereIsNoRow) {
  ModelBuilder b;
  b.step(0, 100);
  Model model = b.model();
  EXPECT_TRUE(exposed(model, NameClasses(model), windows_of(model)).empty());
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
        case 0: b.kernel("gemm", begin, end, kNone, stream, device); break;
        case 1: b.kernel("ncclKernel", begin, end, kNone, stream, device); break;
        default: b.copy(1, 1, 10, begin, end, kNone, stream, device);
      }
    }
    Model model = b.model();
    Windows windows = windows_of(model);
    NameClasses classes(model);
    for (const DeviceExposed& row : exposed(model, classes, windows)) {
      Exposed sum;
      for (size_t s = 0; s < windows.steps.size(); s++) {
        i64 counts[4] = {};
        for (i64 us = windows.steps[s].begin / 1000; us < windows.steps[s].end / 1000; us++) {
          bool on[3] = {};
          for (const GpuEvent& e : model.gpu)
            if (e.device == row.device && e.begin_ns <= us * 1000 && e.end_ns() > us * 1000)
              on[static_cast<u32>(classes.work(e))] = true;
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
  b.step(0, 720);
  b.launch("k1", 0, 10, 100);
  b.label("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 150, 450);
  b.op("aten::slow", 460, 600);
  b.op("aten::inside_loader", 200, 300);
  b.launch("k2", 590, 620, 700);
  Model model = b.model();
  IdleLane device = idle_of(model)[0];
  ASSERT_EQ(device.gaps.size(), 3u);  // the first and the last are edges
  EXPECT_EQ(device.gaps[1].cause, IdleCause::host_wait);
  EXPECT_EQ(device.gaps[1].most, Activity::data_loading);
  EXPECT_EQ(device.of(Activity::data_loading), 300'000);
  EXPECT_EQ(device.of(Activity::operating), 130'000);
  EXPECT_EQ(device.of(Activity::between), 80'000);  // 100..150, 450..460 and 700..720: only the step is open
  EXPECT_EQ(device.launch_ns, 40'000);              // 0..10 and 590..620
  EXPECT_EQ(device.gaps[1].host_ns, 490'000);
  EXPECT_EQ(model.names[device.reasons[0].name], "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
  EXPECT_EQ(device.busy_ns + device.idle_ns, 720'000);
  EXPECT_EQ(device.edges_ns, 30'000);
}

// A gap of 1.35 us, as between kernels on a real H100, then one of 100 us, of the only stream.
TEST(Idle, TellsHostFromKernelAndDeviceWaits) {
  ModelBuilder b;
  b.step(0, 400);
  b.launch("k1", 0, 10, 100);
  b.launch("k2", 20, 200, 300);  // launched in time, began late
  b.kernel("k3", 310, 400);      // no launch known
  Model model = b.model();
  model.gpu[1].begin_ns = 101'350;
  model.gpu[1].dur_ns = 198'650;
  IdleLane device = idle_of(model)[0];
  EXPECT_EQ(device.of(IdleCause::kernel_wait), 1'350);
  EXPECT_EQ(device.of(IdleCause::unknown), 10'000);
  model.gpu[1].begin_ns = 200'000;
  model.gpu[1].dur_ns = 100'000;
  for (const IdleLane& lane : idle_of(model)) {
    EXPECT_EQ(lane.of(IdleCause::device), 100'000);
    EXPECT_EQ(lane.of(IdleCause::other), 0);
    EXPECT_EQ(lane.of(IdleCause::host_wait), 10'000);  // before k1
  }
}

TEST(Idle, AnotherStreamIsBlamedOnlyIfItWasAtWork) {
  ModelBuilder b;
  b.step(0, 1000);
  b.launch("k1", 0, 10, 100, 1, 7);
  b.launch("all_reduce", 10, 50, 500, 1, 20);
  b.launch("k2", 20, 502, 700, 1, 7);   // waited for it
  b.launch("k3", 30, 900, 1000, 1, 7);  // for nothing that is known
  std::vector<IdleLane> lanes = idle_of(b.model());
  ASSERT_EQ(lanes.size(), 3u);
  EXPECT_EQ(lanes[0].of(IdleCause::other), 0);
  EXPECT_EQ(lanes[0].of(IdleCause::kernel_wait), 2'000);
  EXPECT_EQ(lanes[0].of(IdleCause::device), 200'000);
  EXPECT_EQ(lanes[1].stream, 7u);
  EXPECT_EQ(lanes[1].of(IdleCause::other), 402'000);
  EXPECT_EQ(lanes[1].of(IdleCause::device), 200'000);
}

TEST(Idle, TheTimeBeforeTheFirstAndBehindTheLastWorkIsExplained) {
  ModelBuilder b;
  b.step(0, 1000);
  b.op("aten::prepare", 0, 550);
  b.launch("k1", 570, 580, 900);
  b.op("aten::finish", 920, 1000);
  IdleLane device = idle_of(b.model())[0];
  EXPECT_EQ(device.edges_ns, 680'000);
  EXPECT_EQ(device.of(IdleCause::host_wait), 680'000);
  EXPECT_EQ(device.of(Activity::operating), 630'000);
  EXPECT_EQ(device.of(Activity::between), 40'000);
  EXPECT_EQ(device.launch_ns, 10'000);
  EXPECT_EQ(device.at_edges[static_cast<u32>(Activity::operating)], 630'000);
  EXPECT_EQ(device.launch_at_edges_ns, 10'000);
  EXPECT_EQ(device.reasons[0].edges_ns, device.reasons[0].ns);
}

TEST(Idle, WorkWhoseLaunchIsUnderWayWaitsForTheHost) {
  ModelBuilder b;
  b.step(0, 100);
  b.launch("k1", 0, 0, 50);
  b.kernel("k2", 53, 100, b.call("cudaLaunchKernel", 48, 54));
  IdleLane device = idle_of(b.model())[0];
  EXPECT_EQ(device.of(IdleCause::host_wait), 3'000);
  EXPECT_EQ(device.launch_ns, 3'000);
}

TEST(Idle, WhatHeldWorkUpBehindItsLaunchIsNotTheHosts) {
  ModelBuilder b;
  b.step(0, 1000);
  b.launch("k1", 0, 0, 10);
  b.launch("k2", 20, 900, 1000);  // its call returns at 25
  IdleLane device = idle_of(b.model())[0];
  EXPECT_EQ(device.of(IdleCause::host_wait), 15'000);
  EXPECT_EQ(device.launch_ns, 5'000);
  EXPECT_EQ(device.of(IdleCause::device), 875'000);
}

// The copy stands behind its kernel in the queue, though its call returns much later.
TEST(Idle, ACopyThatWaitsWasLaunchedInTime) {
  ModelBuilder b;
  b.step(0, 500);
  b.launch("k1", 0, 0, 300);
  b.copy(2, 1, 8, 302, 304, b.call("cudaMemcpyAsync", 20, 315));
  b.launch("k2", 350, 360, 500);
  IdleLane device = idle_of(b.model())[0];
  EXPECT_EQ(device.of(IdleCause::kernel_wait), 2'000);
  EXPECT_EQ(device.of(IdleCause::host_wait), 56'000);
  EXPECT_EQ(device.of(Activity::copying), 11'000);
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
  EXPECT_EQ(device.of(Activity::between), 40'000 + 500'000);  // behind k2 too
  EXPECT_EQ(device.of(Activity::nothing), 0);
}

TEST(Idle, FindsTheCallThatDrainedTheQueue) {
  ModelBuilder b;
  b.step(0, 1000);
  b.launch("k1", 0, 10, 300);
  u32 sync = b.call("cudaStreamSynchronize", 20, 310);
  b.launch("k2", 400, 420, 500);
  IdleLane device = idle_of(b.model())[0];
  ASSERT_EQ(device.gaps.size(), 3u);
  EXPECT_EQ(device.gaps[1].sync, sync);
  EXPECT_EQ(device.of(Activity::synchronising), 10'000);
}

TEST(Idle, ACopyToPageableMemoryDrainsTheQueueToo) {
  ModelBuilder b;
  b.step(0, 1000);
  b.launch("k1", 0, 10, 300);
  u32 item = b.call("hipMemcpyWithStream", 20, 330);
  b.copy(2, 0, 4, 301, 303, item);
  b.launch("k2", 400, 420, 500);
  IdleLane device = idle_of(b.model())[0];
  ASSERT_EQ(device.gaps.size(), 4u);
  EXPECT_EQ(device.gaps[2].sync, item);
  EXPECT_EQ(device.of(IdleCause::kernel_wait), 1'000);
}

TEST(Idle, AWaitThatBeganWithAnEmptyQueueDidNotDrainIt) {
  ModelBuilder b;
  b.step(0, 1000);
  b.launch("k1", 0, 10, 300);
  b.call("cudaStreamSynchronize", 350, 353);
  b.launch("k2", 400, 420, 500);
  EXPECT_EQ(idle_of(b.model())[0].gaps[1].sync, kNone);
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
      i64 causes = 0, activities = lane.launch_ns, gaps = 0, edges = 0;
      for (i64 ns : lane.by_cause) causes += ns;
      for (i64 ns : lane.by_activity) activities += ns;
      for (const Gap& gap : lane.gaps) (gap.edge ? edges : gaps) += gap.length();
      ASSERT_EQ(causes, lane.idle_ns);
      ASSERT_EQ(activities, lane.of(IdleCause::host_wait));
      ASSERT_EQ(edges, lane.edges_ns);
      ASSERT_EQ(gaps + edges, lane.idle_ns);
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
  Launches l = launches_of(model);
  EXPECT_EQ(l.activities, 3u);
  EXPECT_EQ(l.without_call, 1u);
  EXPECT_EQ(l.longest_delay_ns, 375'000);
  EXPECT_EQ(l.long_delays, 1u);
  EXPECT_EQ(l.short_activities, 1u);
  EXPECT_EQ(l.shorter_than_launch, 1u);
  EXPECT_EQ(l.slow_calls, 1u);
  ASSERT_EQ(l.queues.size(), 1u);
  EXPECT_EQ(l.queues[0].longest, 1u);
  EXPECT_DOUBLE_EQ(l.queues[0].mean, (10 + 380 + 105) / 1000.0);
}

// By clocks that differ, work may begin with its call or even before it.
TEST(Launches, WorkThatDidNotWaitForItsCallIsInNoQueue) {
  ModelBuilder b;
  b.step(0, 1000);
  b.launch("with it", 100, 100, 110);
  b.launch("before it", 200, 199, 210);
  Launches l = launches_of(b.model());
  EXPECT_EQ(l.activities, 2u);
  for (const Queue& queue : l.queues) EXPECT_EQ(queue.longest, 0u);
}

// A graph's works are held against its launch together, and what a call waited is not its launch.
TEST(Launches, WorkIsShorterThanItsCallByAllThatTheCallGave) {
  ModelBuilder b;
  b.step(0, 1000);
  u32 slow = b.call("cudaGraphLaunch", 0, 100), quick = b.call("cudaGraphLaunch", 200, 215);
  for (i64 i = 0; i < 9; i++) b.kernel("of the slow", 110 + 3 * i, 112 + 3 * i, slow);
  for (i64 i = 0; i < 2; i++) b.kernel("of the quick", 220 + 10 * i, 229 + 10 * i, quick);
  b.launch("k", 250, 260, 700);
  b.copy(2, 1, 8, 701, 702, b.call("cudaMemcpyAsync", 270, 710));
  Launches l = launches_of(b.model());
  EXPECT_EQ(l.activities, 13u);
  EXPECT_EQ(l.shorter_than_launch, 10u);  // the nine, and the copy
  EXPECT_EQ(l.host_ns, 560'000);
  EXPECT_EQ(l.wait_ns, 430'000);
  EXPECT_EQ(l.short_wait_ns, 430'000);
  EXPECT_EQ(l.slow_calls, 1u);  // the graph's, not the one that waited
}

TEST(Launches, AFullQueueBlocks) {
  ModelBuilder b;
  b.step(0, 20000);
  for (i64 i = 0; i < 1026; i++) b.kernel("k", 9000 + i, 9000 + i, b.call("cudaLaunchKernel", i, i + 1));
  Model model = b.model();
  Queue q = launches_of(model).queues[0];
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
  EXPECT_EQ(rows[2].ns, kMinCopyNs);
}

}  // namespace
}  // namespace tprof
