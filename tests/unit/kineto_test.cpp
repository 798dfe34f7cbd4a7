// Recording -> trace file: the whole way through convert_recording(), read back with a JSON parser and the
// checker.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "check/check.h"
#include "convert/convert.h"
#include "convert/write.h"
#include "model/trace.h"
#include "record/give_up.h"
#include "recording_builder.h"

namespace tprof {
namespace {

using namespace test;
using Json = nlohmann::json;

constexpr u64 kT = kStart;

size_t files_in(const std::string& directory) {
  return size_t(std::distance(std::filesystem::directory_iterator(directory), {}));
}

std::string read_gz(const std::string& path) {
  gzFile f = gzopen(path.c_str(), "rb");
  std::string out;
  char buffer[65536];
  for (int n; f && (n = gzread(f, buffer, sizeof buffer)) > 0;) out.append(buffer, size_t(n));
  if (f) gzclose(f);
  return out;
}

class KinetoTest : public testing::Test {
 protected:
  ConvertResult convert() {
    b.write(path());
    return convert_recording(path(), options, state);
  }
  Json trace_of(const ConvertResult& result, size_t index = 0) {
    const std::string& file = result.traces.at(index).path;
    for (const Finding& f : check_trace(file)) EXPECT_FALSE(f.is_error()) << f.line();
    return Json::parse(read_gz(file));
  }
  static std::vector<Json> named(const Json& trace, const std::string& name, const std::string& phase = "X") {
    std::vector<Json> out;
    for (const Json& e : trace["traceEvents"])
      if (e["name"] == name && e["ph"] == phase) out.push_back(e);
    return out;
  }
  std::string path() const { return dir.path + "/r.tprof"; }
  void active(u64 begin, u64 end) { b.window(0, WindowState::sealed, 0, -1, begin, begin, end); }

  TempDir dir;
  RecordingBuilder b;
  ConvertOptions options;
  ConvertState state;
};

TEST_F(KinetoTest, WholeTrace) {
  add_training(b, 8, 2, 5);
  b.info("option.record_shapes", "1");
  b.info("distributed", R"({"pg_count": 1, "rank": 3, "world_size": 8, "backend": "gloo"})");
  ConvertResult r = convert();
  ASSERT_EQ(r.traces.size(), 1u);
  EXPECT_EQ(r.traces[0].path,
            dir.path + "/testhost_4242_rank3." + std::to_string(kWall + 1000 + 200'000) + ".pt.trace.json.gz");
  EXPECT_EQ(r.traces[0].events, 3 * kTrainingEvents);
  EXPECT_EQ(r.traces[0].first_step, 2);
  EXPECT_EQ(r.traces[0].end_step, 5);
  EXPECT_TRUE(r.complete);
  EXPECT_FALSE(r.damaged);
  Json t = trace_of(r);
  EXPECT_EQ(t["schemaVersion"], 1);
  EXPECT_TRUE(t["deviceProperties"].is_array());
  EXPECT_EQ(t["baseTimeNanoseconds"], kBase);
  EXPECT_EQ(t["record_shapes"], 1);
  EXPECT_FALSE(t.contains("with_stack"));
  EXPECT_EQ(t["distributedInfo"]["rank"], 3);
  EXPECT_EQ(t["traceEvents"][0]["ph"], "M");
  EXPECT_EQ(named(t, "ProfilerStep#2").size(), 1u);
  EXPECT_EQ(named(t, "ProfilerStep#4").size(), 1u);
  EXPECT_EQ(named(t, "ProfilerStep#5").size(), 0u);
  EXPECT_EQ(named(t, "fwdbwd", "s").size(), 3u);
  EXPECT_EQ(named(t, "fwdbwd", "f").size(), 3u);
  Json op = named(t, "aten::addmm")[0];
  EXPECT_EQ(op["cat"], "cpu_op");
  EXPECT_EQ(op["args"]["Input Dims"], Json::parse("[[32,10],[5,10],[]]"));
  EXPECT_EQ(op["args"]["Sequence number"], 4);
  EXPECT_EQ(named(t, "Optimizer.step#SGD.step")[0]["cat"], "user_annotation");
  EXPECT_EQ(t["tprof"]["seen"], 3 * kTrainingEvents);
  EXPECT_EQ(t["tprof"]["written"], 3 * kTrainingEvents);
  EXPECT_EQ(t["tprof"]["discarded_warmup"], 2 * kTrainingEvents);
  std::string text = read_gz(r.traces[0].path);
  EXPECT_NE(text.find("\"rank\": 3"), std::string::npos);
}

TEST_F(KinetoTest, InputsAsTorchWritesThem) {
  active(kT, kT + 1000);
  Inputs in;
  in.tensor(6, {4, 5}, {5, 1}).none().integer(-100).floating(0.1).floating(3).boolean(true).complex(0, 0.5);
  in.integers({1, 1}).floats({2, 1.5}).booleans({1, 0}).string("never printed").undefined().sparse(6, {2, 3});
  in.tensor_list(2).tensor(5, {3}, {1}).tensor(5, {4}, {1});
  in.tensor_list(2).tensor(5, {3}, {1}).undefined();
  in.wide_tensor(4, {i64(1) << 40}, {-1})
      .floating(INFINITY)
      .floating(1e20)
      .integers(std::vector<i64>(31, 0))
      .integers({});
  b.range(kPid, 1, "op", kT + 10, kT + 20, {.inputs = &in});
  Json args = named(trace_of(convert()), "op")[0]["args"];
  EXPECT_EQ(args["Input type"], Json::parse(R"(["float","","Scalar","Scalar","Scalar","Scalar","Scalar","ScalarList",
    "ScalarList","ScalarList","","","float","TensorList","","long int","Scalar","Scalar","","ScalarList"])"));
  EXPECT_EQ(args["Concrete Inputs"], Json::parse(R"(["","","-100","0.10000000000000001","3.","True","0.+0.5j","[1, 1]",
    "[2., 1.5]","[True, False]","","","","","","","inf","1e+20","","[]"])"));
  EXPECT_EQ(args["Input Dims"],
            Json::parse("[[4,5],[],[],[],[],[],[],[],[],[],[],[],[2,3],[[3],[4]],[],[1099511627776],[],[],[],[]]"));
  EXPECT_EQ(args["Input Strides"],
            Json::parse("[[5,1],[],[],[],[],[],[],[],[],[],[],[],[],[[1],[1]],[],[-1],[],[],[],[]]"));
}

TEST_F(KinetoTest, HostileNames) {
  active(kT, kT + 100'000);
  const std::string names[] = {"\"quoted\" \\ back", "tab\tnewline\nbell\a", "bad \xff\xfe utf8",
                               "caf\xc3\xa9",        "</script><!--",        "ProfilerStep#abc",
                               "ProfilerStep",       "\"rank\": 77",         ""};
  u64 at = kT;
  for (const std::string& name : names) {
    b.range(kPid, 1, name, at, at + 50, {.scope = Scope::user});
    at += 100;
  }
  ConvertResult r = convert();
  Json t = trace_of(r);
  EXPECT_EQ(named(t, "\"quoted\" \\ back").size(), 1u);
  EXPECT_EQ(named(t, "tab\tnewline\nbell\a").size(), 1u);
  EXPECT_EQ(named(t, "bad \xef\xbf\xbd\xef\xbf\xbd utf8").size(), 1u);
  EXPECT_EQ(named(t, "caf\xc3\xa9").size(), 1u);
  EXPECT_EQ(named(t, "range ProfilerStep#abc").size(), 1u);
  EXPECT_EQ(t["tprof"]["written"], std::size(names));
  for (unsigned char c : read_gz(r.traces[0].path)) ASSERT_TRUE(c == '\n' || (c >= 32 && c < 127));
}

TEST_F(KinetoTest, MarksWhatIsNotWhole) {
  b.window(0, WindowState::active, 0, -1, kT, kT, 0);
  b.range(kPid, 1, "open", kT + 10, 0);
  b.range(kPid, 1, "done", kT + 20, kT + 30);
  Json t = trace_of(convert());
  EXPECT_EQ(named(t, "open")[0]["args"]["tprof"], "unfinished");
  EXPECT_FALSE(named(t, "done")[0]["args"].contains("tprof"));
  EXPECT_EQ(t["tprof"]["process_ended_inside"], true);
}

TEST_F(KinetoTest, IdempotentAndForced) {
  add_training(b, 4, 0, 2);
  ConvertResult first = convert();
  std::string text = read_gz(first.traces[0].path);
  state = {};
  ConvertResult second = convert_recording(path(), options, state);
  ASSERT_EQ(second.traces.size(), 1u);
  EXPECT_TRUE(second.traces[0].existed);
  EXPECT_EQ(second.traces[0].path, first.traces[0].path);
  EXPECT_TRUE(convert_recording(path(), options, state).traces.empty());  // told already
  options.force = true;
  EXPECT_FALSE(convert_recording(path(), options).traces[0].existed);
  EXPECT_EQ(read_gz(first.traces[0].path), text);
}

TEST_F(KinetoTest, PlainFileWorkerNameAndStep) {
  add_training(b, 4, 1, 3);
  b.info("option.use_gzip", "0");
  b.info("option.worker_name", "trace_{step}");
  b.info("option.on_trace_ready", "touch " + dir.path + "/from_the_file");
  b.write(path());
  options = options_of(Recording::open(path())->read_meta());
  EXPECT_EQ(options.on_trace_ready, "");  // no command comes from a file
  options.on_trace_ready = "echo {} {step} > " + dir.path + "/hook";
  ConvertResult r = convert();
  EXPECT_EQ(r.traces[0].path, dir.path + "/trace_3." + std::to_string(kWall + 101'000) + ".pt.trace.json");
  std::ifstream hook(dir.path + "/hook");
  std::string line;
  std::getline(hook, line);
  EXPECT_EQ(line, r.traces[0].path + " 3");
  trace_of(r);
}

TEST_F(KinetoTest, WhichWindowsAreWritten) {
  for (u32 w = 0; w < 5; w++) {
    u64 begin = kT + w * 10'000;
    constexpr WindowState kStates[] = {WindowState::sealed, WindowState::discarded, WindowState::sealed,
                                       WindowState::active, WindowState::warmup};
    b.window(w, kStates[w], w * 10, w * 10 + 1, begin, begin + 1000, w < 3 ? begin + 9000 : 0);
    b.step(w * 10, begin + 1000, begin + 9000);
    b.range(kPid, 2 * w + 1, "op" + std::to_string(w), begin + 2000, begin + 3000);
  }
  ConvertResult r = convert();
  ASSERT_EQ(r.traces.size(), 3u);  // 0, 2 and 3, which was open when the process died
  EXPECT_EQ(named(trace_of(r, 1), "op2").size(), 1u);
  EXPECT_EQ(named(trace_of(r, 2), "op3").size(), 1u);
  state = {};
  options.only_sealed = options.force = true;
  EXPECT_EQ(convert().traces.size(), 2u);
}

TEST_F(KinetoTest, EmptyWindowWritesNothing) {
  active(kT, kT + 1000);
  ConvertResult r = convert();
  EXPECT_TRUE(r.traces.empty());
  EXPECT_TRUE(r.nothing_recorded);
}

TEST_F(KinetoTest, NoScheduleIsCutIntoParts) {
  options.max_events_per_span = 3 * kTrainingEvents;
  options.max_spans = 2;
  for (i64 s = 0; s < 20; s++) {
    u64 at = kT + 1000 + u64(s) * 1000;
    b.step(s, at, at + 1000);
    for (u64 i = 0; i < 9; i++) b.range(kPid, 1, "op", at + i * 100, at + i * 100 + 50);
  }
  b.window(0, WindowState::sealed, -1, -1, kT, kT, kT + 50'000);
  ConvertResult r = convert();
  ASSERT_EQ(r.traces.size(), 2u);
  EXPECT_EQ(r.traces[0].end_step, 3);
  EXPECT_EQ(r.traces[1].first_step, 3);
  EXPECT_FALSE(r.complete);
  EXPECT_NE(r.note.find("--steps 6:20"), std::string::npos) << r.note;
  trace_of(r, 1);

  options.first_step = 6;
  options.end_step = 8;
  ConvertResult part = convert_recording(path(), options);
  ASSERT_EQ(part.traces.size(), 1u);
  EXPECT_EQ(part.traces[0].events, 18u);
  EXPECT_EQ(part.traces[0].first_step, 6);
  EXPECT_EQ(part.traces[0].end_step, 8);
  EXPECT_TRUE(convert_recording(path(), options).traces[0].existed);
}

TEST_F(KinetoTest, OtherStepsOfAWindowHaveAnotherName) {
  add_training(b, 6, 2, 8);  // the window begins at step 2
  b.write(path());
  options.first_step = 1;
  options.end_step = 4;
  ASSERT_EQ(convert_recording(path(), options).traces.size(), 1u);
  options.first_step = 2;
  options.end_step = 5;
  ConvertResult more = convert_recording(path(), options);
  ASSERT_EQ(more.traces.size(), 1u);
  EXPECT_FALSE(more.traces[0].existed);
  EXPECT_EQ(more.traces[0].end_step, 5);
}

TEST_F(KinetoTest, FlushShowsWhatThereWas) {
  b.window(0, WindowState::sealed, 0, 2, kT, kT, kT + 10'000);
  b.range(kPid, 1, "early", kT + 100, kT + 8000);
  b.range(kPid, 1, "late", kT + 6000, kT + 7000);
  b.flush(1, kT + 5000);
  ConvertResult r = convert();
  ASSERT_EQ(r.traces.size(), 2u);
  EXPECT_NE(r.traces[0].path.find(std::to_string(kWall + 5000)), std::string::npos);
  Json t = trace_of(r);
  EXPECT_EQ(t["tprof"]["span"]["kind"], "flush");
  EXPECT_EQ(named(t, "early")[0]["args"]["tprof"], "clipped at window end");
  EXPECT_TRUE(named(t, "late").empty());
  EXPECT_EQ(named(trace_of(r, 1), "late").size(), 1u);
}

TEST_F(KinetoTest, ClockStampsThatFollowDoNotRenameATrace) {
  b.header.clock_kind = static_cast<u32>(ClockKind::tsc);
  b.window(0, WindowState::sealed, 0, 2, kT - 5'000'000, kT - 5'000'000, kT + 10'000);  // begun in the parent
  b.range(kPid, 1, "op", kT + 100, kT + 8000);
  std::string first = convert().traces.at(0).path;
  b.clock(kT + 20'000'000'000, kWall + 25'000'000'000, kT + 25'000'000'000);  // the counter's rate is another
  b.write(path());
  ConvertResult second = convert_recording(path(), options);
  EXPECT_EQ(second.traces.at(0).path, first);
  EXPECT_TRUE(second.traces.at(0).existed);
}

TEST_F(KinetoTest, DropsStandInTheLedger) {
  add_training(b, 4, 0, 2);
  b.header.dropped[static_cast<u32>(Drop::disk_full)] = 17;
  b.header.stopped = 1 + static_cast<u32>(Drop::disk_full);
  ConvertResult r = convert();
  EXPECT_EQ(r.traces[0].dropped, 17u);
  Json t = trace_of(r);
  EXPECT_EQ(t["tprof"]["dropped"]["disk_full"], 17);
  EXPECT_EQ(t["tprof"]["seen"], t["tprof"]["written"].get<u64>() + 17);
  EXPECT_EQ(t["tprof"]["recording_stopped"], "disk_full");
}

TEST_F(KinetoTest, WhatWasDroppedIsToldByTheTraceThatIsWrittenInTheEnd) {
  add_training(b, 8, 2, 5);
  b.header.dropped[static_cast<u32>(Drop::disk_full)] = 17;
  options.out_dir = dir.path + "/full";
  EXPECT_THROW(convert(), Error);
  ASSERT_EQ(mkdir(options.out_dir.c_str(), 0755), 0);
  EXPECT_EQ(trace_of(convert())["tprof"]["dropped"]["disk_full"], 17);
}

TEST_F(KinetoTest, WorkThatIsGivenUpLeavesNothing) {
  add_training(b, 8, 2, 5);
  std::atomic<bool> give_up{true};
  t_give_up = &give_up;
  EXPECT_THROW(convert(), GivenUp);
  t_give_up = nullptr;
  EXPECT_EQ(files_in(dir.path), 1u);
  EXPECT_EQ(convert().traces.size(), 1u);
}

TEST_F(KinetoTest, WhatFollowsAWrittenTraceIsNotGivenUp) {
  add_training(b, 8, 2, 5);
  std::atomic<bool> give_up{false};
  t_give_up = &give_up;
  size_t told = 0;
  options.on_written = [&](const Model&, const std::string&) {
    give_up = true;
    may_give_up();
    told++;
  };
  EXPECT_EQ(convert().traces.size(), 1u);
  EXPECT_EQ(told, 1u);
  EXPECT_EQ(t_give_up, &give_up);
  t_give_up = nullptr;
}

TEST_F(KinetoTest, WrittenChunksArePunched) {
  add_training(b, 6, 2, 4);
  convert();
  struct stat before, after;
  stat(path().c_str(), &before);
  u32 punched = punch_written(path(), state);
  if (punched == 0) GTEST_SKIP() << "this file system cannot punch holes";
  stat(path().c_str(), &after);
  EXPECT_LE(after.st_blocks, before.st_blocks);
  auto r = Recording::open(path());
  EXPECT_EQ(r->header().live_chunks.load(), r->header().chunks.load() - punched);
  EXPECT_TRUE(r->data_chunks(0, 1).empty());
  EXPECT_EQ(r->data_chunks(2, 2).size(), 1u);
  EXPECT_FALSE(r->damage().any());
}

TEST_F(KinetoTest, AWindowThatWasGivenBackIsNotWrittenInHalf) {
  add_training(b, 6, 2, 4);
  convert();
  if (punch_written(path(), state) == 0) GTEST_SKIP() << "this file system cannot punch holes";
  options.force = true;
  options.out_dir = dir.path;
  ConvertResult again = convert_recording(path(), options);
  EXPECT_TRUE(again.traces.empty());
  EXPECT_NE(again.note.find("no longer in the recording"), std::string::npos) << again.note;
}

TEST_F(KinetoTest, AWindowThatIsGivenBackBetweenPlanAndWriteIsNotWrittenInHalf) {
  add_training(b, 6, 2, 4);
  convert();
  options.out_dir = dir.path + "/another";
  mkdir(options.out_dir.c_str(), 0755);
  ConvertState fresh;
  OpenRecording recording{Recording::open(path()), false, {}, {}};
  recording.meta = recording.reader->read_meta();
  Plan plan = plan_traces(recording, options, fresh);
  ASSERT_FALSE(plan.jobs.empty());
  if (punch_written(path(), state) == 0) GTEST_SKIP() << "this file system cannot punch holes";
  WrittenTraces written = write_traces(recording, plan.jobs, options, fresh);
  EXPECT_TRUE(written.traces.empty());
  EXPECT_TRUE(written.given_back);
}

TEST_F(KinetoTest, ChunksThatTheNextWindowNeedsStay) {
  // Back to back: the edge was confirmed late, so window 0's last chunk holds the first event of window 1.
  b.window(0, WindowState::sealed, 0, 1, kT, kT, kT + 1000);
  b.window(1, WindowState::active, 1, 2, kT + 1000, kT + 1000, 0);
  b.step(0, kT, kT + 1000);
  b.step(1, kT + 1000, 0);
  b.range(kPid, 1, "first", kT + 10, kT + 20);
  b.range(kPid, 1, "second", kT + 1010, kT + 1020);
  b.write(path());
  options.only_sealed = true;
  ASSERT_EQ(convert_recording(path(), options, state).traces.size(), 1u);
  EXPECT_EQ(punch_written(path(), state), 0u);
  options.only_sealed = false;
  ConvertResult r = convert_recording(path(), options, state);
  ASSERT_EQ(r.traces.size(), 1u);
  EXPECT_EQ(named(trace_of(r), "second").size(), 1u);
}

TEST_F(KinetoTest, ThreadsGiveTheSame) {
  for (u32 w = 0; w < 8; w++) {
    u64 begin = kT + w * 100'000;
    b.window(w, WindowState::sealed, w, w + 1, begin, begin, begin + 90'000);
    b.step(w, begin, begin + 90'000);
    for (u64 i = 0; i < 800; i++)
      b.range(kPid, 2 * w + 1, "op" + std::to_string(i % 7), begin + i * 100, begin + i * 100 + 50);
  }
  options.threads = 4;
  ConvertResult r = convert();
  ASSERT_EQ(r.traces.size(), 8u);
  for (size_t i = 0; i < 8; i++) EXPECT_EQ(trace_of(r, i)["tprof"]["written"], 800);
}

TEST_F(KinetoTest, DirectoryThatIsNotThere) {
  add_training(b, 4, 0, 2);
  options.out_dir = dir.path + "/nowhere";
  EXPECT_THROW(convert(), Error);
}

TEST_F(KinetoTest, MemoryEventsStandAmongTheOperatorsInOrderOfTime) {
  active(kT, kT + 100000);
  b.range(kPid, 1, "aten::empty", kT + 1000, kT + 3000);
  b.memory(kPid, 1, kT + 2000, 64, 1064);
  b.range(kPid, 1, "aten::add", kT + 4000, kT + 6000);
  b.memory(kPid, 1, kT + 5000, -64, 1000);
  b.memory(kPid, 1, kT - 10, 8, 8);         // before the window
  b.memory(kPid, 1, kT + 100000, 8, 1008);  // behind it
  Json trace = trace_of(convert());
  auto events = named(trace, "[memory]", "i");
  ASSERT_EQ(events.size(), 2u);
  const Json& first = events[0];
  EXPECT_EQ(first["cat"], "cpu_instant_event");
  EXPECT_EQ(first["s"], "t");
  EXPECT_EQ(first["tid"], kPid);
  Json args = {{"Bytes", 64},         {"Addr", 0x1000},   {"Total Allocated", 1064},
               {"Total Reserved", 0}, {"Device Type", 0}, {"Device Id", -1},
               {"Ev Idx", 2}};
  EXPECT_EQ(first["args"], args);
  EXPECT_EQ(events[1]["args"]["Bytes"], -64);
  std::vector<std::string> order;
  for (const Json& e : trace["traceEvents"])
    if (e["name"] == "aten::empty" || e["name"] == "aten::add" || e["name"] == "[memory]") order.push_back(e["name"]);
  EXPECT_EQ(order, (std::vector<std::string>{"aten::empty", "[memory]", "aten::add", "[memory]"}));
  EXPECT_EQ(trace["tprof"]["written"], 4);
}

TEST_F(KinetoTest, MemoryOfADeviceAndOutOfMemory) {
  active(kT, kT + 100000);
  b.range(kPid, 1, "aten::empty", kT + 1000, kT + 3000);
  b.memory(kPid, 1, kT + 2000, 512, 1024, 0, 1, 3);
  b.memory(kPid, 1, kT + 2500, 1 << 30, 1024, kMemoryOutOfMemory, 1, 3, 0);
  b.memory(kPid, 1, kT + 2600, 4096, 77, kMemoryShared);
  Json trace = trace_of(convert());
  auto memory = named(trace, "[memory]", "i");
  ASSERT_EQ(memory.size(), 2u);
  EXPECT_EQ(memory[0]["args"]["Device Type"], 1);
  EXPECT_EQ(memory[0]["args"]["Device Id"], 3);
  EXPECT_EQ(memory[1]["args"]["Total Allocated"], 77);
  EXPECT_TRUE(memory[1]["args"].contains("tprof"));
  auto failed = named(trace, "[OutOfMemory]", "i");
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0]["args"]["Bytes"], 1 << 30);
  EXPECT_FALSE(failed[0]["args"].contains("Addr"));
}

TEST_F(KinetoTest, SequenceNumbersBeyond31BitsAreKept) {
  active(kT, kT + 100000);
  b.range(kPid, 1, "aten::mul", kT + 1000, kT + 3000, {.sequence = i64(1) << 40});
  b.range(kPid, 1, "MulBackward0", kT + 4000, kT + 5000,
          {.scope = Scope::backward, .sequence = i64(1) << 40, .forward_thread = 7});
  Json trace = trace_of(convert());
  EXPECT_EQ(named(trace, "aten::mul").at(0)["args"]["Sequence number"], i64(1) << 40);
  EXPECT_EQ(named(trace, "MulBackward0").at(0)["args"]["Fwd thread id"], 7);
}

}  // namespace
}  // namespace tprof
