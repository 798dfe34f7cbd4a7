// Recordings that are followed while they are written: what is new in the file, and what is then said of the program.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/process.h"
#include "live/program.h"
#include "record/companion.h"
#include "recording_builder.h"

namespace tprof::live {
namespace {

using namespace test;

constexpr u64 kMs = 1'000'000;

// --- a file that grows

class FollowTest : public testing::Test {
 protected:
  std::string path() const { return dir.path + "/r.tprof"; }
  // In place: the file stays the same one.
  void write() {
    std::string all = b.bytes();
    int fd = open(path().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_EQ(pwrite(fd, all.data(), all.size(), 0), ssize_t(all.size()));
    close(fd);
    if (recording) recording->refresh();
  }
  void put(u64 offset, const void* bytes, size_t size) const {
    int fd = open(path().c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_EQ(pwrite(fd, bytes, size, off_t(offset)), ssize_t(size));
    close(fd);
  }
  void start() {
    write();
    recording = Recording::open(path());
    follower = std::make_unique<ChunkFollower>(*recording, [] { return u64(0); });
  }
  // Makes the file that much longer, without the bytes: so many chunks are given out.
  void give_out(u32 chunks) const {
    ASSERT_EQ(truncate(path().c_str(), off_t(kHeaderBytes + u64(chunks) * kChunkBytes)), 0);
    put(offsetof(FileHeader, chunks), &chunks, sizeof chunks);
    recording->refresh();
  }
  // A chunk with one range, which begins when the chunk was taken.
  void put_chunk(u32 index, u32 tid, u64 ticks) const {
    ChunkHeader header{kChunkMagic, index, u32(Stream::data), 1, tid, {}, ticks, 0, {}};
    RangeRecord range{{u16(Kind::range), sizeof(RangeRecord) / 8, 1}, ticks, ticks + 1, 0, 0, 0, -1};
    u64 at = kHeaderBytes + u64(index) * kChunkBytes;
    put(at, &header, sizeof header);
    put(at + sizeof header, &range, sizeof range);
  }
  // The stamps of the ranges that a look finds.
  std::vector<u64> look() const {
    std::vector<u64> out;
    follower->look([](const RecordView&) {},
                   [&](const RecordView& view) { out.push_back(view.as<RangeRecord>().begin_ticks); });
    return out;
  }

  TempDir dir;
  RecordingBuilder b;
  std::unique_ptr<Recording> recording;
  std::unique_ptr<ChunkFollower> follower;
};

TEST_F(FollowTest, EachRecordIsSeenOnce) {
  b.range(kPid, 1, "aten::mm", 10, 20);
  start();
  EXPECT_EQ(look(), std::vector<u64>{10});
  EXPECT_TRUE(look().empty());
  b.range(kPid, 1, "aten::mm", 30, 40);
  b.range(kPid + 1, 1, "aten::mm", 35, 45);
  write();
  EXPECT_EQ(look(), (std::vector<u64>{30, 35}));
  b.retire(kPid, 1);
  b.range(kPid, 1, "aten::mm", 50, 60);
  write();
  EXPECT_EQ(look(), std::vector<u64>{50}) << "a new chunk";
}

TEST_F(FollowTest, RecordsLargerThanAPieceAndThoseAcrossItsEndAreRead) {
  std::vector<u64> all;
  for (u64 i = 0; i < 6000; i++) {
    b.range(kPid, 1, "aten::mm", i, i + 1);
    all.push_back(i);
  }
  b.name(std::string(300'000, 'x'));
  b.range(kPid, 1, "after", 9000, 9001);
  all.push_back(9000);
  start();
  std::string last;
  std::vector<u64> seen;
  follower->look(
      [&](const RecordView& view) {
        if (view.kind() == Kind::name) last = NameTexts::text_of(view);
      },
      [&](const RecordView& view) { seen.push_back(view.as<RangeRecord>().begin_ticks); });
  EXPECT_EQ(seen, all);
  EXPECT_EQ(last, "after");
}

TEST_F(FollowTest, AChunkThatIsPunchedOutOrUsedAgainIsLeft) {
  RecordRef first = b.range(kPid, 1, "aten::mm", 10, 20);
  start();
  EXPECT_EQ(look(), std::vector<u64>{10});
  u64 at = kHeaderBytes + (first >> 32) * kChunkBytes;
  put(at, std::string(kChunkBytes, '\0').data(), kChunkBytes);
  EXPECT_TRUE(look().empty());
  // Another thread has it now, in another epoch.
  ChunkHeader header{kChunkMagic, u32(first >> 32), u32(Stream::data), 3, kPid + 9, {}, 777, 0, {}};
  RangeRecord range{{u16(Kind::range), sizeof(RangeRecord) / 8, 1}, 500, 510, 0, 0, 0, -1};
  put(at, &header, sizeof header);
  put(at + sizeof header, &range, sizeof range);
  EXPECT_EQ(look(), std::vector<u64>{500});
}

TEST_F(FollowTest, HoweverManyChunksWereGivenOutSinceTheLastLookAllAreReadInOrder) {
  start();
  look();
  std::vector<u64> all;
  u32 first = recording->chunk_count(), count = first + 700;
  give_out(count);
  for (u32 i = first; i < count; i++) {
    put_chunk(i, kPid, 1000 + i);
    all.push_back(1000 + i);
  }
  EXPECT_EQ(look(), all);
  EXPECT_TRUE(look().empty());
}

TEST_F(FollowTest, AChunkThatWasPreparedLongAheadIsReadByTheNextLook) {
  start();
  u32 prepared = recording->chunk_count();
  give_out(prepared + 500);
  put(kHeaderBytes + u64(prepared) * kChunkBytes + offsetof(ChunkHeader, index), &prepared, sizeof prepared);
  EXPECT_TRUE(look().empty());
  give_out(prepared + 1500);
  EXPECT_TRUE(look().empty());
  put_chunk(prepared, kPid, 777);
  EXPECT_EQ(look(), std::vector<u64>{777});
}

TEST_F(FollowTest, WhereChunksAreUsedAgainAllAreLookedAt) {
  b.header.kept_epoch = 1;
  start();
  give_out(1000);
  look();
  for (u32 i : {300u, 400u, 500u, 600u}) put_chunk(i, kPid, 5000 - i);
  EXPECT_EQ(look(), (std::vector<u64>{4400, 4500, 4600, 4700}));
}

TEST_F(FollowTest, WhereToBeginIsAskedForOnceTheMetaStreamWasRead) {
  for (u64 at : {100, 200, 300, 400}) {
    b.chunk_ticks = at;
    b.range(kPid, 1, "aten::mm", at, at + 1);
    b.retire(kPid, 1);
  }
  write();
  recording = Recording::open(path());
  size_t names = 0;
  follower = std::make_unique<ChunkFollower>(*recording, [&] { return names ? u64(250) : 0; });
  std::vector<u64> seen;
  follower->look([&](const RecordView& view) { names += view.kind() == Kind::name; },
                 [&](const RecordView& view) { seen.push_back(view.as<RangeRecord>().begin_ticks); });
  EXPECT_EQ(seen, (std::vector<u64>{200, 300, 400})) << "the one of 200 was the newest then";
  EXPECT_EQ(follower->left_out_before(), 200u);
}

TEST_F(FollowTest, AFileThatIsCutOffIsNoTrouble) {
  for (u64 i = 0; i < 30000; i++) b.range(kPid, 1, "aten::mm", i, i + 1);
  start();
  ASSERT_EQ(truncate(path().c_str(), kHeaderBytes + kChunkBytes + 1000), 0);
  look();
  ASSERT_EQ(truncate(path().c_str(), 100), 0);
  EXPECT_TRUE(look().empty());
  write();
  EXPECT_FALSE(look().empty());
}

TEST_F(FollowTest, NamesAreKnownHoweverManyThereAre) {
  constexpr u32 kNames = 40'000;
  for (u32 i = 0; i < kNames; i++) b.name("name " + std::to_string(i));
  start();
  NameTexts names(*recording);
  follower->look(
      [&](const RecordView& view) {
        if (view.kind() == Kind::name) names.add(view);
      },
      [](const RecordView&) {});
  for (u32 id : {1u, 20'000u, kNames}) EXPECT_EQ(names(id), "name " + std::to_string(id - 1));
  EXPECT_EQ(names(kNames + 1), "(name lost)");
  EXPECT_EQ(names(0), "(name lost)");
}

// --- a program

class ProgramTest : public FollowTest {
 protected:
  ProgramView seen() {
    write();
    Program program(path(), processes);
    for (int i = 0; i < 3; i++) program.look();
    return program.view(100, 100);
  }
  // The recording is one of this process.
  void made_here() {
    ProcessIdentity identity = process_identity(getpid());
    b.header.pid = u32(getpid());
    b.header.process_start = identity.start_time;
    memcpy(b.header.boot_id, identity.boot_id, sizeof b.header.boot_id);
    gethostname(b.header.host, sizeof b.header.host - 1);
  }
  bool runs() {
    write();
    ProcessesHere anew;
    return Program(path(), anew).runs();
  }
  ProcessesHere processes;
};

// torch.profiler.step() opens a range around all of a step.
TEST_F(ProgramTest, AStepOfTheScriptsOwnHidesNothingInIt) {
  for (i64 s = 0; s < 4; s++) {
    u64 at = kStart + u64(s) * 100 * kMs;
    b.step(s, at, at + 100 * kMs);
    b.range(kPid, 1, "ProfilerStep#" + std::to_string(s), at, at + 100 * kMs, {.scope = Scope::user});
    b.range(kPid, 1, "aten::linear", at + 20 * kMs, at + 60 * kMs);
    b.range(kPid, 1, "aten::addmm", at + 25 * kMs, at + 55 * kMs);
  }
  b.window(0, WindowState::active, 0, -1, 0, kStart, 0);
  ProgramView v = seen();
  EXPECT_EQ(v.recent.by[u32(Category::cpu)], 40e6);
  EXPECT_EQ(v.recent.by[u32(Category::other)], 60e6);
}

TEST_F(ProgramTest, StepsOperatorsAndMemory) {
  for (i64 s = 0; s < 4; s++) {
    u64 at = kStart + u64(s) * 100 * kMs;
    b.step(s, at, at + 100 * kMs);
    b.range(kPid, 1, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, at + 20 * kMs,
            {.scope = Scope::user});
    b.range(kPid, 1, "aten::linear", at + 20 * kMs, at + 60 * kMs);
    b.range(kPid, 1, "aten::addmm", at + 25 * kMs, at + 55 * kMs);
    b.range(kPid, 1, "gloo:all_reduce", at + 50 * kMs, at + 70 * kMs, {.scope = Scope::user, .flags = kRangeAsync});
    b.memory(kPid, 1, at, 100, 1000 + u64(s == 1) * 500);
  }
  b.window(0, WindowState::active, 0, -1, 0, kStart, 0);
  b.info("command", "/usr/bin/python3 train.py");
  b.info("env.RANK", "1");
  b.info("env.WORLD_SIZE", "2");
  ProgramView v = seen();
  EXPECT_EQ(v.recent.steps, 4u);
  EXPECT_EQ(v.recent.ns, 100e6);
  EXPECT_EQ(v.recent.by[u32(Category::data_loading)], 20e6);
  EXPECT_EQ(v.recent.by[u32(Category::communication)], 20e6);
  EXPECT_EQ(v.recent.by[u32(Category::cpu)], 30e6);
  EXPECT_EQ(v.recent.by[u32(Category::other)], 30e6);
  EXPECT_EQ(v.own_ns, 80e6);
  std::map<std::string, OperatorView> operators;
  for (const OperatorView& op : v.operators) operators[op.name] = op;
  EXPECT_EQ(operators["aten::linear"].self_ns, i64(4 * 10 * kMs));
  EXPECT_EQ(operators["aten::linear"].total_ns, i64(4 * 40 * kMs));
  EXPECT_EQ(operators["aten::addmm"].calls, 4u);
  ASSERT_EQ(v.memory.size(), 1u);
  EXPECT_EQ(v.memory[0].allocated, 1000);
  EXPECT_EQ(v.memory[0].peak, 1500);
  EXPECT_EQ(v.rank, 1);
  EXPECT_EQ(v.command, "/usr/bin/python3 train.py");
}

TEST_F(ProgramTest, NumbersAndMomentsThatNobodyCanHaveCountedAreNotComputedWith) {
  b.clock(kStart + 1, kWall, ~u64(0) >> 1);  // the clock that only grows jumps
  b.clock(~u64(0) - 1, kWall, kStart + 1);   // and goes back
  b.step(INT64_MAX, kStart, kStart + kMs);
  b.step(INT64_MIN, kStart + kMs, kStart + 2 * kMs);
  b.window(0, WindowState::active, INT64_MAX, INT64_MIN, 0, kStart, 0);
  b.header.step.number = INT64_MAX;
  b.header.step.first_number = INT64_MIN;
  b.header.step.begin_ticks = ~u64(0);
  b.header.clock_kind = u32(ClockKind::tsc);
  for (u32 i = 0; i < 64; i++) b.range(kPid + i, 1, "operator " + std::to_string(i), 1, ~u64(0) - 1);
  b.info("option.schedule", "active=5");
  ProgramView v = seen();
  EXPECT_EQ(v.step, -1);
  EXPECT_EQ(v.recent.steps, 0u);
  EXPECT_GT(v.operators_self_ns, 0);
}

TEST_F(ProgramTest, WorkOfAGpuComesFirst) {
  for (i64 s = 0; s < 3; s++) {
    u64 at = kStart + u64(s) * 100 * kMs;
    b.step(s, at, at + 100 * kMs);
    b.range(kPid, 1, "aten::mm", at, at + 80 * kMs);
    b.call(kPid, 1, "cudaLaunchKernel", at + 10 * kMs, at + 11 * kMs, CallFamily::launch);
    b.kernel(1, "gemm", at + 20 * kMs, at + 50 * kMs, {0, 1, 7, 1});
    b.kernel(1, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + 40 * kMs, at + 90 * kMs, {0, 1, 8, 2});
  }
  b.window(0, WindowState::active, 0, -1, 0, kStart, 0);
  ProgramView v = seen();
  ASSERT_EQ(v.recent.steps, 3u);
  EXPECT_NEAR(v.recent.by[u32(Category::kernel)], 30e6, 10);
  EXPECT_NEAR(v.recent.by[u32(Category::communication)], 40e6, 10);
  EXPECT_NEAR(v.recent.by[u32(Category::runtime)], 1e6, 10);
  EXPECT_NEAR(v.recent.by[u32(Category::cpu)], 19e6, 10);
}

TEST_F(ProgramTest, LinesOfPythonFromTheSamplesBesideIt) {
  RecordingBuilder s;
  s.header.created_ns = b.header.created_ns;
  s.code_of_one_line(1, "<module>", "main.py", 1);
  s.code_of_one_line(2, "work", "main.py", 11);
  s.stack(1, 0, 1, 0);
  s.stack(2, 1, 2, 0);
  for (u64 i = 0; i < 10; i++) {
    s.sample(kPid, 1, kStart + i * kMs, i < 7 ? 2 : 1, kSampleOnCpu);
    s.sample(kPid + 1, 1, kStart + i * kMs, 2, 0);  // another thread, which waits
  }
  s.write(samples_of(path()));
  ProgramView v = seen();
  EXPECT_EQ(v.samples, 10u);
  ASSERT_EQ(v.lines.size(), 2u);
  EXPECT_EQ(v.lines[0].function, "work");
  EXPECT_EQ(v.lines[0].line, 11);
  EXPECT_EQ(v.lines[0].self, 7u);
  EXPECT_EQ(v.lines[1].self, 3u);
  EXPECT_EQ(v.lines[1].total, 10u);
}

TEST_F(ProgramTest, AWindowThatWasWrittenBeforeItCouldBeReadIsCounted) {
  b.header.phase = u32(Phase::wait);
  write();
  Program program(path(), processes);
  program.look();
  EXPECT_EQ(program.view(1, 1).lost_windows, 0u);
  b.header.given_back = 2;
  b.step(0, kStart, kStart + kMs);
  b.step(1, kStart + kMs, kStart + 2 * kMs);
  b.window(0, WindowState::sealed, 0, 2, 0, kStart, kStart + 2 * kMs);
  write();
  for (int i = 0; i < 3; i++) program.look();
  EXPECT_EQ(program.view(1, 1).lost_windows, 1u);
  EXPECT_EQ(program.view(1, 1).recent.steps, 0u) << "what its steps were made of is not known";
}

TEST_F(ProgramTest, WhatFlightModeUsedAgainBeforeItCouldBeReadIsCounted) {
  b.header.phase = u32(Phase::active);
  b.header.epoch = 5;
  b.step(0, kStart, kStart + kMs);
  write();
  Program program(path(), processes);
  program.look();
  b.header.epoch = 9;
  b.header.kept_epoch = 5;
  write();
  program.look();
  EXPECT_EQ(program.view(1, 1).overtaken, 0u) << "what was before epoch 5 had been read";
  b.header.epoch = 15;
  b.header.kept_epoch = 13;
  b.step(1, kStart + kMs, kStart + 2 * kMs);
  write();
  for (int i = 0; i < 3; i++) program.look();
  EXPECT_EQ(program.view(1, 1).overtaken, 1u) << "epoch 11 came and went";
  EXPECT_EQ(program.view(1, 1).recent.steps, 0u);
  EXPECT_EQ(program.view(1, 1).lost_windows, 0u);
}

TEST_F(ProgramTest, StepsOfAWarmUpDoNotCount) {
  for (i64 s = 0; s < 4; s++) b.step(s, kStart + u64(s) * kMs, kStart + u64(s + 1) * kMs);
  b.window(0, WindowState::active, 1, -1, kStart, kStart + kMs, 0);
  ProgramView v = seen();
  EXPECT_EQ(v.recent.first, 1);
  EXPECT_EQ(v.recent.last, 3);
}

TEST_F(ProgramTest, AFileThatIsOverwrittenEndsIt) {
  write();
  Program program(path(), processes);
  program.look();
  EXPECT_FALSE(program.ended());
  ASSERT_EQ(truncate(path().c_str(), 0), 0);
  program.look();
  EXPECT_TRUE(program.ended());
}

TEST_F(ProgramTest, OfAnotherMachineOnlyTheLastSecondsAreRead) {
  constexpr u64 kNow = kStart + 10'000 * kMs;  // the last clock triple
  i64 number = 0;
  for (u64 ago : {5600, 5400, 5200, 4800}) {
    b.chunk_ticks = kNow - ago * kMs;
    b.step(++number, b.chunk_ticks, b.chunk_ticks + 200 * kMs);
    b.memory(kPid, 1, b.chunk_ticks, 100, 1000 + ago);
    b.retire(kPid, 1);
  }
  b.window(0, WindowState::active, 0, -1, 0, kStart, 0);
  ProgramView v = seen();
  ASSERT_EQ(v.memory.size(), 1u);
  EXPECT_EQ(v.memory[0].peak, 6200) << "5 s ago that chunk was the newest one, and it may have gone on";
  EXPECT_EQ(v.recent.first, 3) << "what the steps before were made of was not read";
  EXPECT_EQ(v.recent.last, 4);
}

TEST_F(ProgramTest, WhetherItRunsIsSeenByItsNumberAndStart) {
  made_here();
  EXPECT_TRUE(runs());
  b.header.process_start++;
  EXPECT_FALSE(runs()) << "another process has its number now";
  made_here();
  b.header.closed = kClosed;
  EXPECT_FALSE(runs());
  b.header.closed = 0;
  strcpy(b.header.boot_id, "11111111-2222-3333-4444-555555555555");
  b.header.pid = 1 << 30;
  EXPECT_TRUE(runs()) << "of another machine its recording tells";
}

}  // namespace
}  // namespace tprof::live
