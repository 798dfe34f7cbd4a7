// Which rank holds the others up: each verdict on facts of which it is known, and what a recording says of the present.
#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/hang/stillness.h"
#include "analysis/hang/verdict.h"
#include "model/recent.h"
#include "recording_builder.h"

namespace tprof {
namespace {

using namespace test;
using hang::Finding;
using hang::Means;
using hang::State;
using hang::Verdict;
using hang::Wait;

// A job of ranks in one process group, each in its calls.
struct Facts {
  hang::Job job;

  explicit Facts(u32 ranks) {
    job.world_size = i32(ranks);
    for (u32 i = 0; i < ranks; i++) {
      hang::Rank rank;
      rank.number = i32(i);
      rank.process.pid = 100 + int(i);
      rank.recorded = true;
      rank.now.records = rank.before.records = true;
      rank.now.latest_ticks = rank.before.latest_ticks = 1000;
      rank.process.threads.push_back(thread(rank.process.pid, Wait::peers, "in the collective all_reduce"));
      job.ranks.push_back(rank);
    }
  }
  static hang::Thread thread(int tid, Wait wait, const std::string& waits, bool main = true) {
    hang::Thread t;
    t.tid = tid;
    t.main = main;
    t.python = true;
    t.wait = wait;
    t.waits = waits;
    t.where = "step (train.py:7)";
    return t;
  }
  hang::Rank& operator[](u32 rank) { return job.ranks[rank]; }
  // A collective of all ranks, or of those in the text.
  void call(u32 rank, i64 number, i8 done, const std::string& kind = "allreduce", i64 elements = 4,
            const std::string& group = "0", const std::string& ranks = "") {
    std::string all = ranks;
    for (u32 i = 0; ranks.empty() && i < job.ranks.size(); i++) all += (i ? ", " : "[") + std::to_string(i);
    if (ranks.empty()) all += "]";
    RecentCollective one;
    one.kind = kind;
    one.dtype = "Float";
    one.number = number;
    one.elements = elements;
    one.done = done;
    for (Recent* recent : {&job.ranks[rank].before, &job.ranks[rank].now}) {
      auto at = std::find_if(recent->groups.begin(), recent->groups.end(), [&](auto& g) { return g.name == group; });
      if (at == recent->groups.end()) at = recent->groups.insert(at, {group, all, {}});
      at->calls.push_back(one);
    }
  }
  // All but the last rank wait in call 6, which the last one has not made.
  void last_is_late() {
    for (u32 i = 0; i < job.ranks.size(); i++) {
      call(i, 5, 1);
      if (i + 1 < job.ranks.size()) call(i, 6, 0);
    }
  }
  void does(u32 rank, Wait wait, const std::string& waits = "") {
    job.ranks[rank].process.threads[0].wait = wait;
    job.ranks[rank].process.threads[0].waits = waits;
  }
  Finding found() const { return hang::verdict(job); }
};

TEST(Hang, OneWhoSleepsIsNamedWithWhoWaitsWhere) {
  Facts facts(4);
  facts.last_is_late();
  facts.does(3, Wait::sleep, "until a time (sleeps)");
  Finding found = facts.found();
  EXPECT_EQ(found.verdict, Verdict::asleep);
  EXPECT_EQ(found.culprits, std::vector<u32>{3});
  EXPECT_EQ(found.waiting, (std::vector<u32>{0, 1, 2}));
  EXPECT_EQ(found.sentence, "Rank 3 sleeps in step (train.py:7); 3 ranks wait for it in allreduce 6 of group 0.");
}

TEST(Hang, ThoseThatAreGoneAreNamed) {
  const std::pair<State, Verdict> cases[] = {{State::killed, Verdict::killed},
                                             {State::stopped, Verdict::stopped},
                                             {State::ended, Verdict::ended},
                                             {State::absent, Verdict::absent}};
  for (auto [state, expected] : cases) {
    Facts facts(2);
    facts.last_is_late();
    facts[1].process.state = state;
    facts[1].process.threads.clear();
    facts[1].process.signal = state == State::killed ? 9 : 0;
    if (state != State::stopped) facts[1].now.records = false;
    Finding found = facts.found();
    EXPECT_EQ(found.verdict, expected) << found.sentence;
    EXPECT_EQ(found.culprits, std::vector<u32>{1});
    EXPECT_EQ(found.waiting, std::vector<u32>{0});
    EXPECT_EQ(hang::means(found.verdict), Means::stuck);
  }
}

TEST(Hang, AKilledRankIsNamedAlsoWhenNobodyWaitsYet) {
  Facts facts(2);
  for (u32 i : {0, 1}) facts.call(i, 5, 1);
  facts[1].process.state = State::killed;
  EXPECT_EQ(facts.found().sentence, "Rank 1 was killed.");
}

TEST(Hang, DifferentKindsAtOneNumber) {
  Facts facts(2);
  facts.call(0, 6, 0, "allreduce");
  facts.call(1, 6, 0, "broadcast");
  Finding found = facts.found();
  EXPECT_EQ(found.verdict, Verdict::kinds_differ);
  EXPECT_NE(found.sentence.find("rank 1 is in broadcast 6"), std::string::npos) << found.sentence;
}

TEST(Hang, DifferentSizesCountWhereAllSendAlike) {
  Facts facts(2);
  facts.call(0, 6, 0, "allreduce", 4);
  facts.call(1, 6, 0, "allreduce", 8);
  EXPECT_EQ(facts.found().verdict, Verdict::sizes_differ);
  Facts uneven(2);
  uneven.call(0, 6, 0, "gather", 4);
  uneven.call(1, 6, 0, "gather", 8);
  EXPECT_EQ(uneven.found().verdict, Verdict::same_collective);
}

TEST(Hang, UnevenListsOfTensorsAreLegal) {
  for (const char* kind : {"all_gather", "reduce_scatter"}) {
    Facts facts(2);
    facts.call(0, 6, 0, kind, 4);
    facts.call(1, 6, 0, kind, 8);
    EXPECT_EQ(facts.found().verdict, Verdict::same_collective) << kind;
  }
  for (const char* kind : {"_allgather_base", "_reduce_scatter_base", "all_gather_into_tensor_coalesced", "reduce"}) {
    Facts facts(2);
    facts.call(0, 6, 0, kind, 4);
    facts.call(1, 6, 0, kind, 8);
    EXPECT_EQ(facts.found().verdict, Verdict::sizes_differ) << kind;
  }
}

TEST(Hang, ADifferenceBehindWhichAllHaveGoneOnSaysNothing) {
  Facts facts(3);
  for (u32 i : {0, 1, 2}) facts.call(i, 5, -1);
  for (u32 i : {0, 1}) {
    facts.call(i, 6, -1, "allreduce", 4 + i);
    facts.call(i, 7, -1);
  }
  facts.does(2, Wait::sleep);
  EXPECT_EQ(facts.found().verdict, Verdict::asleep) << facts.found().sentence;
  for (u32 i : {0, 1}) facts[i].now.groups[0].calls.pop_back();  // in which they may be
  EXPECT_EQ(facts.found().verdict, Verdict::sizes_differ) << facts.found().sentence;
}

TEST(Hang, WhoIsInAnotherGroupsCollectiveHasSkippedOne) {
  Facts facts(2);
  for (u32 i : {0, 1}) facts.call(i, 5, 1), facts.call(i, 5, 1, "barrier", -1, "1");
  facts.call(0, 6, 0);
  facts.call(1, 6, 0, "barrier", -1, "1");
  Finding found = facts.found();
  EXPECT_EQ(found.verdict, Verdict::skipped);
  EXPECT_NE(found.sentence.find("allreduce 6 of group 0"), std::string::npos) << found.sentence;
  EXPECT_NE(found.sentence.find("barrier 6 of group 1"), std::string::npos) << found.sentence;
}

TEST(Hang, WhoIsInALaterStepHasSkippedOne) {
  Facts facts(2);
  facts.last_is_late();
  facts[0].now.step = facts[0].before.step = 7;
  facts[1].now.step = facts[1].before.step = 8;
  facts.does(1, Wait::other, "for a condition variable");
  EXPECT_EQ(facts.found().verdict, Verdict::skipped);
}

TEST(Hang, TheOneThatWaitsForNobodyIsToBlame) {
  Facts facts(3);  // 0 waits for 1, which waits for 2
  facts.call(0, 6, 0, "allreduce", 4, "a", "[0, 1]");
  facts.call(1, 5, 1, "allreduce", 4, "a", "[0, 1]");
  facts.call(1, 3, 0, "allreduce", 4, "b", "[1, 2]");
  facts.call(2, 2, 1, "allreduce", 4, "b", "[1, 2]");
  facts.does(2, Wait::sleep);
  Finding found = facts.found();
  EXPECT_EQ(found.verdict, Verdict::asleep);
  EXPECT_EQ(found.culprits, std::vector<u32>{2});
}

TEST(Hang, AReceiverWaitsForItsPeer) {
  Facts facts(2);
  facts.call(0, -1, 0, "recv");
  facts[0].now.groups[0].calls[0].peer = 1;
  facts.call(1, 5, 1);
  facts.does(1, Wait::sleep);
  Finding found = facts.found();
  EXPECT_EQ(found.verdict, Verdict::asleep) << found.sentence;
  EXPECT_EQ(found.waiting, std::vector<u32>{0});
}

TEST(Hang, ASendAndItsRecvThatBothRunAreOneTransfer) {
  Facts facts(3);
  facts.call(0, -1, 0, "send");
  facts.call(1, -1, 0, "recv");
  facts[0].now.groups[0].calls[0].peer = 1;
  facts[1].now.groups[0].calls[0].peer = 0;
  Finding found = facts.found();
  EXPECT_EQ(found.verdict, Verdict::same_collective);
  EXPECT_EQ(found.sentence, "Rank 0 and rank 1 are in a transfer, and nothing moves: look at what connects them.");
  facts[1].now.groups[0].calls[0].kind = "recv_any_source";
  facts[1].now.groups[0].calls[0].peer = -1;
  EXPECT_EQ(facts.found().verdict, Verdict::same_collective);
  facts[1].now.groups[0].calls[0].kind = "send";  // both send
  facts[1].now.groups[0].calls[0].peer = 0;
  EXPECT_EQ(facts.found().verdict, Verdict::skipped);
}

TEST(Hang, ThreadsThatWaitForEachOthersMutexes) {
  Facts facts(2);
  facts.last_is_late();
  facts[1].process.cycles = {{101, 150}};
  Finding found = facts.found();
  EXPECT_EQ(found.verdict, Verdict::deadlock);
  EXPECT_EQ(found.tid, 101);
}

TEST(Hang, PythonLocksThatNobodyCanReleaseAreADeadlock) {
  Facts facts(2);
  facts.last_is_late();
  facts.does(1, Wait::other, "for a thread to end");
  for (int tid : {150, 151})
    facts[1].process.threads.push_back(Facts::thread(tid, Wait::lock, "for a Python lock", false));
  EXPECT_EQ(facts.found().verdict, Verdict::deadlock);
  facts[1].process.threads.push_back(Facts::thread(152, Wait::unknown, "", false));
  facts[1].process.threads.back().runs = true;  // which may hold it
  EXPECT_NE(facts.found().verdict, Verdict::deadlock);
  facts[1].process.threads.pop_back();
  facts[1].process.threads[1].works = true;  // it gets its lock again and again
  EXPECT_NE(facts.found().verdict, Verdict::deadlock);
}

TEST(Hang, AStuckWorkerOfADataLoader) {
  Facts facts(2);
  facts.last_is_late();
  facts.does(1, Wait::loader, "for a batch of a data-loader worker");
  EXPECT_EQ(facts.found().verdict, Verdict::out_of_sight);  // none is seen
  for (int pid : {201, 202}) {
    hang::Process worker;
    worker.pid = pid;
    worker.threads.push_back(Facts::thread(pid, pid == 202 ? Wait::sleep : Wait::work, ""));
    facts[1].workers.push_back(worker);
  }
  Finding found = facts.found();
  EXPECT_EQ(found.verdict, Verdict::worker);
  EXPECT_EQ(found.worker, 202);
  facts[1].workers[1].threads[0].runs = true;
  EXPECT_EQ(hang::means(facts.found().verdict), Means::slow);
}

TEST(Hang, WhatGoesOnIsNoHang) {
  Facts saves(2);
  saves.last_is_late();
  saves.does(1, Wait::io, "for input");
  saves[1].process.moved_bytes = 50 << 20;
  EXPECT_EQ(saves.found().verdict, Verdict::transfer);

  Facts computes(2);
  computes.last_is_late();
  computes.does(1, Wait::unknown);
  computes[1].process.threads[0].runs = true;
  EXPECT_EQ(computes.found().verdict, Verdict::late);

  Facts steps(2);
  for (u32 i : {0, 1}) {
    steps.call(i, 5, 1);
    steps[i].now.groups[0].calls.push_back(steps[i].now.groups[0].calls[0]);
  }
  EXPECT_EQ(steps.found().verdict, Verdict::fine);
}

TEST(Hang, StepsGoOnBetweenTheWindowsOfASchedule) {
  Facts facts(2);
  for (u32 i : {0, 1}) {
    facts[i].now.records = facts[i].before.records = false;
    facts[i].before.step_ticks = 1000;
    facts[i].now.step_ticks = 2000;
    facts.does(i, Wait::other, "for a condition variable");
  }
  EXPECT_EQ(facts.found().verdict, Verdict::fine);
  for (u32 i : {0, 1}) facts[i].now.step_ticks = 1000;
  EXPECT_EQ(facts.found().verdict, Verdict::waits);
}

TEST(Hang, AThreadThatWaitsAgainAndAgainIsAtWork) {
  Facts facts(2);
  facts.last_is_late();
  facts.does(1, Wait::other, "for a condition variable");
  EXPECT_EQ(facts.found().verdict, Verdict::waits);
  facts[1].process.threads[0].moved = true;  // it looks at times whether something has come
  EXPECT_EQ(facts.found().verdict, Verdict::waits);
  facts[1].process.threads[0].works = true;
  EXPECT_EQ(facts.found().verdict, Verdict::late);
}

TEST(Hang, ADownloadThatDoesNotMoveIsNamed) {
  Facts facts(2);
  facts.last_is_late();
  facts.does(1, Wait::io, "for data of the network");
  EXPECT_EQ(facts.found().verdict, Verdict::waits);
  facts[1].process.threads[0].moved = true;
  EXPECT_EQ(facts.found().verdict, Verdict::transfer);
}

TEST(Hang, AllInOneCollective) {
  Facts facts(2);
  for (u32 i : {0, 1}) facts.call(i, 6, 0);
  EXPECT_EQ(facts.found().verdict, Verdict::same_collective);
}

TEST(Hang, ThatNcclsCallsAreNotKnownToBeCompletedSaysNothing) {
  Facts facts(2);
  for (u32 i : {0, 1}) {
    facts.call(i, 6, -1);
    facts.does(i, Wait::sleep);
  }
  EXPECT_EQ(facts.found().verdict, Verdict::asleep);
  EXPECT_TRUE(facts.found().waiting.empty());
}

TEST(Hang, OfNcclTheRankThatHasMadeFewerCallsIsLate) {
  Facts facts(3);
  for (i64 number : {5, 6, 7, 8})
    for (u32 i : {0, 1, 2})
      if (i != 1 || number < 7) facts.call(i, number, -1);
  facts.does(1, Wait::sleep);
  Finding found = facts.found();
  EXPECT_EQ(found.verdict, Verdict::asleep) << found.sentence;
  EXPECT_EQ(found.culprits, std::vector<u32>{1});
  EXPECT_EQ(found.waiting, (std::vector<u32>{0, 2}));
  EXPECT_NE(found.sentence.find("allreduce 7 of group 0"), std::string::npos) << found.sentence;
}

TEST(Hang, WhoeverMayBeToBlameIsACandidate) {
  Facts facts(4);
  for (u32 i : {0, 1, 2, 3}) facts.call(i, 5, 1);
  facts.call(0, 6, 0);
  facts.does(1, Wait::unknown);
  facts.does(2, Wait::unknown);
  facts.does(3, Wait::unknown);
  EXPECT_EQ(facts.found().candidates, (std::vector<u32>{1, 2, 3}));
}

// --- of two nodes with log directories of their own, one is seen

struct OneOfTwoNodes : Facts {
  OneOfTwoNodes() : Facts(4) {
    for (u32 i : {2, 3}) {
      hang::Rank unseen;
      unseen.number = i32(i);
      unseen.process.state = State::elsewhere;
      job.ranks[i] = unseen;
    }
  }
};

TEST(Hang, AJobOfTwoNodesGoesOn) {
  OneOfTwoNodes facts;
  for (u32 i : {0, 1}) facts[i].now.step_ticks = 2000;
  EXPECT_EQ(facts.found().verdict, Verdict::fine);
}

TEST(Hang, WhoIsSeenIsToBlameBeforeWhoIsNot) {
  OneOfTwoNodes facts;
  for (u32 i : {0, 1}) facts.call(i, 5, 1);
  facts.call(0, 6, 0);
  facts.does(1, Wait::sleep);
  Finding found = facts.found();
  EXPECT_EQ(found.verdict, Verdict::asleep) << found.sentence;
  EXPECT_EQ(found.culprits, std::vector<u32>{1});
}

TEST(Hang, ThatNothingIsKnownOfTheOtherNodeIsSaid) {
  OneOfTwoNodes facts;
  for (u32 i : {0, 1}) facts.call(i, 6, 0);
  EXPECT_EQ(facts.found().sentence,
            "Cannot tell, because 2 ranks are not on this host, and nothing else is known of them: 2 ranks wait in "
            "allreduce 6 of group 0.");
  for (u32 i : {0, 1}) facts[i].now.records = false;
  EXPECT_EQ(facts.found().verdict, Verdict::unknown) << facts.found().sentence;
}

TEST(Hang, OfTwoJobsNothingIsSaid) {
  Facts facts(2);
  facts.last_is_late();
  facts.job.cannot_tell = "two jobs write to this directory";
  EXPECT_EQ(facts.found().sentence, "Cannot tell, because two jobs write to this directory.");
}

TEST(Hang, WithoutRecordingsStacksTellWhoWaits) {
  Facts facts(3);
  for (hang::Rank& rank : facts.job.ranks) rank.now.records = false;
  facts.does(1, Wait::sleep);
  Finding found = facts.found();
  EXPECT_EQ(found.verdict, Verdict::asleep);
  EXPECT_EQ(found.culprits, std::vector<u32>{1});
  EXPECT_EQ(found.waiting, (std::vector<u32>{0, 2}));
}

TEST(Hang, WhatCannotBeSeenIsSaid) {
  Facts facts(2);
  facts.last_is_late();
  facts[1].process.threads.clear();
  facts[1].process.state = State::elsewhere;
  Finding found = facts.found();
  EXPECT_EQ(found.verdict, Verdict::out_of_sight);
  EXPECT_EQ(hang::means(found.verdict), Means::unknown);
  EXPECT_EQ(
      found.sentence,
      "Rank 1 is late, and what it does cannot be seen from here: it runs on another host; rank 0 waits for it in "
      "allreduce 6 of group 0.");
  facts.job.ranks.clear();
  EXPECT_EQ(facts.found().sentence, "Cannot tell, because no process of the job is running.");
}

// --- what a recording says

constexpr u64 kGroup = 0x1000;
constexpr u8 kFloat = 6;

class RecentTest : public testing::Test {
 protected:
  RecentTest() {
    b.header.phase = u32(Phase::active);
    b.window(0, WindowState::active, -1, -1, 0, kStart, 0);
  }
  void all_reduce(u64 at, u64 end, u64 label_end, u32 elements = 4) {
    Inputs inputs, sent;
    inputs.tensor_list(1).tensor(kFloat, {elements}, {1}).object(kGroup).object(0x9999).none().integer(-1);
    b.range(kPid, 1, "c10d::allreduce_", at, end, {.inputs = &inputs});
    sent.tensor(kFloat, {elements}, {1});
    b.range(77, 1, "gloo:all_reduce", at + 1, label_end, {.scope = Scope::user, .flags = kRangeAsync, .inputs = &sent});
  }
  Recent recent() {
    b.write(dir.path + "/r.tprof");
    auto recording = Recording::open(dir.path + "/r.tprof");
    Meta meta = recording->read_meta();
    return recent_of(*recording, meta);
  }
  TempDir dir;
  RecordingBuilder b;
};

TEST_F(RecentTest, TheOpenCallIsNumberedByTorchsCount) {
  b.group(kGroup, kStart + 5, 40, "0", "[0, 1]", 2);
  all_reduce(kStart + 100, kStart + 120, kStart + 200);
  all_reduce(kStart + 300, kStart + 320, 0);
  b.step(3, kStart + 250);
  Recent seen = recent();
  EXPECT_TRUE(seen.records);
  EXPECT_EQ(seen.step, 3);
  ASSERT_EQ(seen.groups.size(), 1u);
  EXPECT_EQ(seen.groups[0].ranks, "[0, 1]");
  ASSERT_EQ(seen.groups[0].calls.size(), 2u);
  const RecentCollective &first = seen.groups[0].calls[0], &second = seen.groups[0].calls[1];
  EXPECT_EQ(first.number, 41);
  EXPECT_EQ(first.done, 1);
  EXPECT_EQ(second.number, 42);
  EXPECT_EQ(second.done, 0);
  EXPECT_EQ(second.kind, "allreduce");
  EXPECT_EQ(second.elements, 4);
  EXPECT_EQ(second.step, 3);
  EXPECT_EQ(second.turn, 0);
  EXPECT_EQ(seen.latest_ticks, kStart + 320);
}

TEST_F(RecentTest, OfALongRecordingOnlyTheNewestChunksAreRead) {
  b.group(kGroup, kStart + 5, 0, "0", "[0, 1]", 2);
  for (u64 i = 0; i < 140; i++) {
    b.retire(kPid, 1);
    b.chunk_ticks = kStart + 1000 * i + 50;
    all_reduce(kStart + 1000 * i + 100, kStart + 1000 * i + 120, kStart + 1000 * i + 200);
  }
  b.step(9, kStart + 1000 * 138);
  Recent seen = recent();
  ASSERT_EQ(seen.groups.size(), 1u);
  EXPECT_LT(seen.groups[0].calls.size(), 140u);
  EXPECT_EQ(seen.groups[0].calls.back().number, -1);  // those before it are not counted
  EXPECT_EQ(seen.groups[0].calls.back().step, 9);
  EXPECT_EQ(seen.groups[0].calls.back().turn, 1);
}

TEST_F(RecentTest, TransfersHaveNoTurn) {
  b.group(kGroup, kStart + 5, -1, "0", "[0, 1]", 2);
  b.step(3, kStart + 50);
  Inputs inputs;
  inputs.tensor_list(1).tensor(kFloat, {4}, {1}).object(kGroup).integer(1).integer(0);
  b.range(kPid, 1, "c10d::send", kStart + 100, kStart + 110, {.inputs = &inputs});
  all_reduce(kStart + 200, kStart + 220, kStart + 300);
  b.range(kPid, 1, "c10d::send", kStart + 400, kStart + 410, {.inputs = &inputs});
  all_reduce(kStart + 500, kStart + 520, 0);
  Recent seen = recent();
  ASSERT_EQ(seen.groups.size(), 1u);
  std::vector<i64> turns;
  for (const RecentCollective& call : seen.groups[0].calls) turns.push_back(call.turn);
  EXPECT_EQ(turns, (std::vector<i64>{-1, 0, -1, 1}));
}

TEST_F(RecentTest, StepsAreKnownThoughNothingIsRecorded) {
  b.header.phase = u32(Phase::wait);
  b.step(3, kStart + 50, kStart + 90);
  b.header.step.number = 1000;
  b.header.step.begin_ticks = b.header.step.last_ticks = kStart + 5000;
  Recent seen = recent();
  EXPECT_FALSE(seen.records);
  EXPECT_EQ(seen.step, 1000);
  EXPECT_EQ(seen.step_ticks, kStart + 5000);
}

TEST_F(RecentTest, WhatIsNotRecordedNowIsSaid) {
  b.header.phase = u32(Phase::ended);
  EXPECT_FALSE(recent().records);
}

// --- the trigger hang>10s

constexpr u64 kSecond = 1'000'000'000;

// A program that is watched for ten seconds without a sign.
struct Watched {
  hang::Stillness stillness{10 * kSecond, 0};
  hang::Signs signs;
  u64 at(double second) { return stillness.add(signs, u64(second * kSecond)).ns; }
};

TEST(StillnessTest, NoStepForTheLimitIsAHang) {
  Watched w;
  w.signs.step_ticks = 5;
  EXPECT_EQ(w.at(1), 0u);
  w.signs.step_ticks = 6;
  EXPECT_EQ(w.at(9), 0u);
  EXPECT_EQ(w.at(18.9), 0u);
  EXPECT_EQ(w.at(19), 10 * kSecond);
}

TEST(StillnessTest, OneHangIsToldOnce) {
  Watched w;
  w.signs.step_ticks = 5;
  EXPECT_EQ(w.at(0), 0u);
  EXPECT_GT(w.at(11), 0u);
  EXPECT_EQ(w.at(12), 0u);
  EXPECT_EQ(w.at(200), 0u);
  w.signs.step_ticks = 6;
  EXPECT_EQ(w.at(201), 0u);
  EXPECT_EQ(w.at(211), 10 * kSecond);
}

TEST(StillnessTest, TheNextOneIsNotToldWithinAMinute) {
  Watched w;
  w.signs.step_ticks = 5;
  EXPECT_EQ(w.at(0), 0u);
  EXPECT_GT(w.at(10), 0u);
  w.signs.step_ticks = 6;
  EXPECT_EQ(w.at(11), 0u);
  EXPECT_EQ(w.at(69), 0u);
  EXPECT_EQ(w.at(70), 59 * kSecond) << "it still hangs";
}

TEST(StillnessTest, OperatorsAreSignsOfLife) {
  Watched w;
  w.signs.step_ticks = 5;
  EXPECT_EQ(w.at(0), 0u);
  w.signs.event_age_ns = i64(3 * kSecond);
  EXPECT_EQ(w.at(20), 0u);
  w.signs.event_age_ns = i64(12 * kSecond);
  EXPECT_EQ(w.at(29), 12 * kSecond);
}

TEST(StillnessTest, WhatHasNotBegunIsNoHangUnlessItIsARank) {
  Watched launcher, rank, works;
  rank.signs.is_rank = true;
  works.signs.event_age_ns = i64(11 * kSecond);
  EXPECT_EQ(launcher.at(1000), 0u);
  EXPECT_EQ(rank.at(9), 0u);
  EXPECT_EQ(rank.at(10), 10 * kSecond);
  EXPECT_EQ(works.at(12), 11 * kSecond);
}

TEST(StillnessTest, ACollectiveThatTakesTooLongIsAHangThoughStepsGoOn) {
  Watched w;
  for (u64 second = 0; second < 30; second++) {
    w.signs.step_ticks = second + 1;
    w.signs.collective_ns = i64(second * kSecond);
    hang::Still still = w.stillness.add(w.signs, second * kSecond);
    EXPECT_EQ(still.ns, second == 10 ? 10 * kSecond : 0u) << second;
    EXPECT_EQ(still.collective, second == 10) << second;
  }
}

TEST(StillnessTest, AHangIsToldThoughAnOldCollectiveNeverEnds) {
  Watched w;
  w.signs.step_ticks = 1;
  EXPECT_EQ(w.at(0), 0u);
  w.signs.collective_ns = i64(10 * kSecond);
  w.signs.step_ticks = 2;
  EXPECT_GT(w.at(1), 0u);
  w.signs.collective_ns = i64(209 * kSecond);
  w.signs.step_ticks = 3;
  EXPECT_EQ(w.at(200), 0u);
  EXPECT_EQ(w.at(210), 10 * kSecond);
  EXPECT_EQ(w.at(300), 0u);
}

TEST(StillnessTest, WhatWasNoHangIsAskedForAgainLater) {
  Watched w;
  w.signs.step_ticks = 5;
  EXPECT_EQ(w.at(0), 0u);
  EXPECT_GT(w.at(10), 0u);
  w.stillness.dismiss(11 * kSecond);
  EXPECT_EQ(w.at(20), 0u);
  EXPECT_GT(w.at(21), 0u);
}

}  // namespace
}  // namespace tprof
