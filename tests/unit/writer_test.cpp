// Writer, recorder and reader together, in one process: what one thread appends is what the reader sees, at any
// moment and after a simulated death (the file is just read while it is open).
#include "record/writer.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "collect/recorder/recorder.h"
#include "record/reader.h"

using namespace tprof;

namespace {

std::function<void(int fd)> g_before_allocation;
int g_interruptions;  // so many calls are interrupted by a signal

}  // namespace

// Instead of the C library's: space for the file is asked for.
extern "C" int fallocate(int fd, int mode, off_t at, off_t bytes) {
  if (g_before_allocation) g_before_allocation(fd);
  if (g_interruptions && g_interruptions--) return errno = EINTR, -1;
  return int(syscall(SYS_fallocate, fd, mode, at, bytes));
}

namespace {

// g_writer is one per process, so these tests share one recording.
struct WriterTest : testing::Test {
  static std::string dir, path;
  static void SetUpTestSuite() {
    char name[] = "/tmp/tprof-writer-XXXXXX";
    dir = mkdtemp(name);
    path = dir + "/new/host_1.1.tprof";
    init_clock();
    ASSERT_TRUE(init_threads());
    RecordingSpec spec{path.c_str(), "host", u32(getpid()), 0, 1, 2, 64ull << 20, Role::program, false};
    ASSERT_TRUE(g_writer.create(spec)) << strerror(errno);
  }
  static void TearDownTestSuite() {
    unlink(path.c_str());
    rmdir((dir + "/new").c_str());
    rmdir(dir.c_str());
  }
  static void record(const char* name, const void* key, bool end) {
    ThreadBlock* block = enter();
    ASSERT_NE(block, nullptr);
    RangeSlot slot = begin_range(block, recording_epoch(), key);
    ASSERT_NE(slot.record, nullptr);
    slot.record->sequence = -1;
    slot.record->begin_ticks = now_ticks();
    commit_range(block, slot, intern(block, name), 0);
    if (end) {
      EXPECT_TRUE(end_range(block, key, now_ticks()));
    }
    leave(block);
  }
  static u64 count(u32 epoch, Kind kind) {
    u64 n = 0;
    Recording::open(path)->for_each_data(epoch, epoch, [&](const RecordView& v) { n += v.kind() == kind; });
    return n;
  }
};
std::string WriterTest::dir, WriterTest::path;

}  // namespace

TEST_F(WriterTest, WhatIsAppendedIsReadAtOnce) {
  g_epoch.store(1);
  int key;
  for (int i = 0; i < 100; i++) record("aten::add", &key, true);
  EXPECT_EQ(count(1, Kind::range), 100u);
  auto recording = Recording::open(path);
  Meta meta = recording->read_meta();
  int adds = 0;
  for (auto& [id, name] : meta.names) adds += name == "aten::add";
  EXPECT_EQ(adds, 1);
  EXPECT_TRUE(recording->writer_alive());
  EXPECT_FALSE(recording->damage().any());
}

TEST_F(WriterTest, ARangeThatOutlivesItsChunkGetsAnEndRecord) {
  g_epoch.store(3);
  int outer, inner;
  record("outer", &outer, false);
  for (int i = 0; i < 20000; i++) record("inner", &inner, true);
  ThreadBlock* block = enter();
  EXPECT_TRUE(end_range(block, &outer, now_ticks()));
  leave(block);
  EXPECT_EQ(count(3, Kind::range), 20001u);
  EXPECT_EQ(count(3, Kind::range_end), 1u);
}

TEST_F(WriterTest, ThreadsHaveChunksOfTheirOwn) {
  g_epoch.store(5);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([] {
      int key;
      for (int i = 0; i < 5000; i++) record("work", &key, true);
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(count(5, Kind::range), 20000u);
}

TEST_F(WriterTest, EndsOfAnEarlierEpochAreLeftToTheReader) {
  g_epoch.store(7);
  int key;
  record("open", &key, false);
  g_epoch.store(9);
  ThreadBlock* block = enter();
  EXPECT_TRUE(end_range(block, &key, now_ticks()));
  leave(block);
  Recording::open(path)->for_each_data(7, 7, [&](const RecordView& v) {
    if (v.kind() == Kind::range) {
      EXPECT_EQ(v.as<RangeRecord>().end_ticks, 0u);
    }
  });
}

TEST_F(WriterTest, QuiesceWaitsForABusyThread) {
  g_epoch.store(11);
  int key;
  record("x", &key, true);
  ThreadBlock* block = enter();
  g_epoch.store(13);
  // A thread does not wait for itself.
  std::thread([] { EXPECT_FALSE(quiesce(13, 20'000'000)); }).join();
  leave(block);
  std::thread([] { EXPECT_TRUE(quiesce(13, 20'000'000)); }).join();
}

TEST_F(WriterTest, ChunksPreparedAheadAreThereForThreadsWhenNoMoreCanBeHad) {
  static Writer writer;  // a process has one; this one ends before anybody records into it
  std::string small = dir + "/small.tprof";
  ASSERT_TRUE(writer.create({small.c_str(), "host", u32(getpid()), 0, 1, 2, 3 * kChunkBytes, Role::program, false}));
  for (int i = 0; i < 3; i++) writer.top_up();
  EXPECT_FALSE(writer.stopped()) << "no thread has asked for more than there is";
  EXPECT_NE(writer.take_chunk(Stream::data, 1, 1), nullptr);
  writer.top_up();
  EXPECT_NE(writer.take_chunk(Stream::data, 1, 1), nullptr);
  EXPECT_EQ(writer.take_chunk(Stream::data, 1, 1), nullptr);
  EXPECT_TRUE(writer.stopped());
  writer.remove();
}

TEST_F(WriterTest, AProgramThatIsKilledWhileItAsksForSpaceLeavesNoDamage) {
  static Writer writer;  // see above
  std::string killed = dir + "/killed.tprof";
  ASSERT_TRUE(writer.create({killed.c_str(), "host", u32(getpid()), 0, 1, 2, 64ull << 20, Role::program, false}));
  int asked = 0;
  g_before_allocation = [&](int) {
    std::unique_ptr<Recording> left = Recording::open(killed);
    left->read_meta();
    left->for_each_data(0, 9, [](const RecordView&) {});
    EXPECT_FALSE(left->damage().any());
    asked++;
  };
  for (int i = 0; i < 3; i++) EXPECT_NE(writer.take_chunk(Stream::data, 1, 1), nullptr);
  writer.top_up();
  g_before_allocation = nullptr;
  EXPECT_GE(asked, 3);
  writer.remove();
}

TEST_F(WriterTest, StepsOfFlightModeAreGivenBackAndTheirChunksUsedAgain) {
  static Writer writer;  // see above
  std::string flight = dir + "/flight.tprof";
  RecordingSpec spec{flight.c_str(), "host", u32(getpid()), 0, 1, 2, 64ull << 20, Role::program, false, true};
  ASSERT_TRUE(writer.create(spec));
  constexpr i64 kEpoch = 10'000;  // steps; some more fill a chunk
  u32 most = 0;
  StepRecord* before = nullptr;
  for (i64 number = 0; number < 50 * kEpoch; number++) {
    u32 epoch = u32(1 + 2 * (number / kEpoch));
    writer.header()->epoch.store(epoch);
    if (number % kEpoch == 0 && number > 0) {
      writer.add_clock(read_clocks());
      EpochRange ranges[] = {{epoch - 4, epoch - 4}, {epoch, ~u32(0)}};
      writer.give_back(ranges, 2);
      writer.unmap_retired();
      most = std::max(most, writer.header()->live_chunks.load());
      if (number == 20 * kEpoch) writer.add_restart(RestartWhy::training, number, u64(number));
    }
    writer.add_name("a name that stays", 17);
    StepRecord* step = writer.add_step(StepBy::api, number, u64(number), 1, before);
    ASSERT_NE(step, nullptr);
    if (before) before->end_ticks = u64(number);
    before = step;
  }
  std::unique_ptr<Recording> left = Recording::open(flight);
  Meta meta = left->read_meta();
  EXPECT_FALSE(left->damage().any());
  EXPECT_LE(most, 40u + 8) << "chunks: names fill 40, steps the rest";
  EXPECT_EQ(meta.names.size(), size_t(50 * kEpoch));
  ASSERT_FALSE(meta.steps.empty());
  EXPECT_LE(meta.steps.front().number, 47 * kEpoch) << "of the oldest epoch that is kept all are needed";
  EXPECT_EQ(meta.steps.back().number, 50 * kEpoch - 1);
  for (size_t i = 1; i < meta.steps.size(); i++) {
    ASSERT_EQ(meta.steps[i].number, meta.steps[i - 1].number + 1);
    ASSERT_EQ(meta.steps[i - 1].end_ticks, u64(meta.steps[i].number));
    ASSERT_FALSE(meta.steps[i].flags & kStepBefore);
  }
  EXPECT_GE(meta.clocks.size(), 4u);
  writer.remove();
}

TEST_F(WriterTest, AStepOfFlightModeCanBeEndedHoursLater) {
  static Writer writer;  // see above
  std::string flight = dir + "/hours.tprof";
  RecordingSpec spec{flight.c_str(), "host", u32(getpid()), 0, 1, 2, 64ull << 20, Role::program, false, true};
  ASSERT_TRUE(writer.create(spec));
  writer.add_clock(read_clocks());
  StepRecord* first = writer.add_step(StepBy::api, 0, 1, 1, nullptr);
  StepRecord* last = writer.add_step(StepBy::api, 1, 2, 1, first);
  for (u32 second = 0; second < 30 * 3600; second++) {
    writer.add_clock({second + 1, second + 1, second + 1});
    if (second % 1000 == 0) {
      writer.header()->epoch.store(second);
      EpochRange ranges[] = {{second, ~u32(0)}};
      writer.give_back(ranges, 1);
      writer.unmap_retired();
    }
  }
  EXPECT_LE(writer.header()->live_chunks.load(), 12u) << "the stamps are given back meanwhile";
  first->end_ticks = 2;
  last->end_ticks = 3;
  last = writer.add_step(StepBy::api, 2, 3, 1, last);
  ASSERT_NE(last, nullptr);
  Meta meta = Recording::open(flight)->read_meta();
  ASSERT_EQ(meta.steps.size(), 3u);
  EXPECT_EQ(meta.steps[1].end_ticks, 3u);
  writer.remove();
}

TEST_F(WriterTest, SignalsAndAMomentWithoutDescriptorsDoNotEndTheRecording) {
  static Writer writer;  // see above
  std::string busy = dir + "/busy.tprof";
  g_interruptions = 20;
  ASSERT_TRUE(writer.create({busy.c_str(), "host", u32(getpid()), 0, 1, 2, 64ull << 20, Role::program, false}));
  g_interruptions = 20;
  EXPECT_NE(writer.take_chunk(Stream::data, 1, 1), nullptr);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = {0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_EQ(writer.take_chunk(Stream::data, 1, 1), nullptr);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(writer.stopped());
  EXPECT_NE(writer.take_chunk(Stream::data, 1, 1), nullptr);
  g_interruptions = 1 << 20;  // a timer that goes off faster than the file system works
  EXPECT_EQ(writer.take_chunk(Stream::data, 1, 1), nullptr);
  g_interruptions = 0;
  EXPECT_NE(writer.take_chunk(Stream::data, 1, 1), nullptr);
  writer.remove();
}

TEST_F(WriterTest, NamesThatComeAgainAreWrittenOnceAlsoWhenThereAreVeryMany) {
  for (int i = 0; i < 60'000; i++) {
    std::string label = "iteration " + std::to_string(i);
    intern_bytes(label.c_str(), label.size());
  }
  u32 first = intern_bytes("a_kernel", 8);
  EXPECT_EQ(intern_bytes("a_kernel", 8), first);
}

TEST_F(WriterTest, AFileThatWasEmptiedAndGrewAgainIsNotTaken) {
  static Writer writer;  // see above
  std::string emptied = dir + "/emptied.tprof";
  ASSERT_TRUE(writer.create({emptied.c_str(), "host", u32(getpid()), 0, 1, 2, 64ull << 20, Role::program, false}));
  writer.top_up();
  struct stat before;
  ASSERT_EQ(stat(emptied.c_str(), &before), 0);
  writer.stop_if_gone();
  EXPECT_FALSE(writer.stopped());
  ASSERT_EQ(truncate(emptied.c_str(), 0), 0);
  ASSERT_EQ(truncate(emptied.c_str(), before.st_size), 0);  // as a chunk does that is had right behind it
  writer.stop_if_gone();
  EXPECT_TRUE(writer.stopped());
  writer.forget();
  unlink(emptied.c_str());
}

TEST_F(WriterTest, ZBudgetStopsRecordingAndIsCounted) {
  g_epoch.store(15);
  int key;
  ThreadBlock* block = enter();
  for (int i = 0; i < 200 && !g_writer.stopped(); i++) {
    g_writer.take_chunk(Stream::data, 15, 1);
  }
  EXPECT_TRUE(g_writer.stopped());
  block->used = kChunkBytes;
  EXPECT_EQ(begin_range(block, 15, &key).record, nullptr);
  EXPECT_TRUE(end_range(block, &key, 1));
  leave(block);
  EXPECT_GE(g_writer.header()->dropped[u32(Drop::over_budget)].load(), 1u);
}
