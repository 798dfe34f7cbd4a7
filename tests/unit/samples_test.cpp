// Samples: from the companion of a recording to the Model, into a trace and back, and as tables.
#include <gtest/gtest.h>
#include <unistd.h>

#include "convert/convert.h"
#include "kineto/read/read.h"
#include "kineto/write/writer.h"
#include "model/build.h"
#include "record/companion.h"
#include "recording_builder.h"
#include "report/python_tables.h"

namespace tprof {
namespace {

using namespace test;

constexpr u32 kOther = kPid + 1;
constexpr u64 kMs = 1'000'000;

// Two steps of 100 ms. In each an operator runs from 0 to 20 ms; stacks: main.py:1 <module> calls work (line 11) and
// idle (line 21).
class SamplesTest : public testing::Test {
 protected:
  SamplesTest() {
    b.info("option.sample", "python:100");
    b.window(0, WindowState::sealed, 0, 2, kStart, kStart, kStart + 200 * kMs);
    for (u64 i = 0; i < 2; i++) {
      u64 begin = kStart + i * 100 * kMs;
      b.step(i64(i), begin, begin + 100 * kMs);
      b.range(kPid, 1, "aten::mm", begin, begin + 20 * kMs);
    }
    s.header.created_ns = b.header.created_ns;
    s.header.sampled_until_ns = kStart + 10'000'000'000;
    s.code_of_one_line(1, "<module>", "main.py", 1);
    s.code_of_one_line(2, "work", "main.py", 11);
    s.code_of_one_line(3, "idle", "main.py", 21);
    s.stack(1, 0, 1, 0);
    s.stack(2, 1, 2, 0);
    s.stack(3, 1, 3, 0);
    s.info(kSamplesHz, "100");
  }

  // At each full 10 ms: work for the first 50 ms of a step, then idle.
  void add_samples() {
    for (u64 i = 0; i < 20; i++) {
      bool works = i % 10 < 5;
      u64 ns = kStart + i * 10 * kMs + 1000;
      s.sample(kPid, 1, ns, works ? 2 : 3, works * kSampleOnCpu);
      s.sample(kOther, 1, ns, 1, 0);
      s.sample_round(1, ns, 2, i == 7, i == 9 ? 3 : 0);
    }
  }

  std::string path() const { return dir.path + "/r.tprof"; }
  Model model() {
    b.write(path());
    s.write(samples_of(path()));
    auto recording = Recording::open(path());
    Meta meta = recording->read_meta();
    return build_model(*recording, meta, request_of(meta.windows.at(0), meta));
  }
  Model through_a_trace(const Model& m) {
    std::string trace = dir.path + "/t.pt.trace.json";
    kineto::write_trace(m, trace, false);
    return kineto::read_trace(trace);
  }
  static std::string text(const Model& m, u32 stack) {
    std::string all;
    for (u32 at = stack; at; at = m.stacks[at].parent) all += m.names[m.stacks[at].text] + ";";
    return all;
  }

  TempDir dir;
  RecordingBuilder b, s;
};

TEST_F(SamplesTest, those_of_the_span_are_in_the_model) {
  add_samples();
  s.sample(kPid, 1, kStart - 1, 2, 0);
  s.sample(kPid, 1, kStart + 200 * kMs, 2, 0);
  s.sample_round(1, kStart + 200 * kMs, 1, 5, 5);
  Model m = model();
  ASSERT_EQ(m.samples.size(), 40u);
  EXPECT_EQ(m.samples[0].ns, m.begin_ns + 1000);
  EXPECT_EQ(m.threads[m.samples[0].thread].owner, kPid);
  EXPECT_EQ(text(m, m.samples[0].stack), "main.py(11): work;main.py(1): <module>;");
  EXPECT_EQ(m.samples[0].flags, u32(kSampleOnCpu));
  EXPECT_EQ(m.sampled.hz, 100u);
  EXPECT_EQ(m.sampled.looks, 20u);
  EXPECT_EQ(m.sampled.missed, 1u);
  EXPECT_EQ(m.sampled.unread, 3u);
  EXPECT_EQ(m.sampled.why_not, "");
  EXPECT_EQ(m.ledger.stacks_lost, 0u);
}

TEST_F(SamplesTest, a_trace_says_the_same) {
  add_samples();
  s.sample(kPid, 1, kStart + 3, kStackLost, kSampleGil | kSampleChanged);
  s.sample_round(1, kStart + 3, 1, 0, kAllUnread);
  Model made = model(), read = through_a_trace(made);
  EXPECT_EQ(made.sampled.lost, 1u);
  EXPECT_EQ(made.sampled.failed, 1u);
  EXPECT_EQ(made.samples.size(), 41u);
  EXPECT_TRUE(read.ledger.dropped.empty() && read.ledger.repaired.empty() && read.ledger.left_out.empty());
  std::erase_if(made.samples, [](const StackSample& x) { return x.stack == 0; });  // a viewer cannot show it
  ASSERT_EQ(read.samples.size(), made.samples.size());
  for (size_t i = 0; i < read.samples.size(); i++) {
    EXPECT_EQ(read.samples[i].ns, made.samples[i].ns);
    EXPECT_EQ(read.samples[i].flags, made.samples[i].flags);
    EXPECT_EQ(text(read, read.samples[i].stack), text(made, made.samples[i].stack));
    EXPECT_EQ(read.threads[read.samples[i].thread].tid, made.threads[made.samples[i].thread].tid);
  }
  EXPECT_EQ(read.sampled.hz, 100u);
  EXPECT_EQ(read.sampled.looks, made.sampled.looks);
  EXPECT_EQ(read.sampled.missed, made.sampled.missed);
  EXPECT_EQ(read.sampled.failed, made.sampled.failed);
  EXPECT_EQ(read.sampled.lost, made.sampled.lost);
}

TEST_F(SamplesTest, functions_by_category_of_the_step) {
  add_samples();
  Model m = model();
  NameClasses classes(m);
  PythonSamples found = python_samples(m, classes, windows_of(m));
  EXPECT_EQ(found.samples, 20u);
  EXPECT_EQ(found.by[u32(Category::cpu)], 4u);
  EXPECT_EQ(found.by[u32(Category::other)], 16u);
  ASSERT_EQ(found.functions.size(), 3u);
  const SampledPlace &work = found.functions[0], &idle = found.functions[1], &module = found.functions[2];
  EXPECT_EQ(work.function, "work");
  EXPECT_EQ(work.self, 10u);
  EXPECT_EQ(work.on_cpu, 10u);
  EXPECT_EQ(work.by[u32(Category::cpu)], 4u);
  EXPECT_EQ(work.by[u32(Category::other)], 6u);
  EXPECT_EQ(idle.function, "idle");
  EXPECT_EQ(idle.line, 21);
  EXPECT_EQ(idle.by[u32(Category::other)], 10u);
  EXPECT_EQ(idle.on_cpu, 0u);
  EXPECT_EQ(module.self, 0u);
  EXPECT_EQ(module.total, 20u);
  EXPECT_EQ(module.total_by[u32(Category::other)], 16u);
  EXPECT_EQ(work.op_samples, 4u);
  EXPECT_EQ(m.names[work.op], "aten::mm");
  EXPECT_EQ(idle.op_samples, 0u);
  ASSERT_EQ(found.threads.size(), 2u);
  // 21 looks were due in the time of 20.
  EXPECT_DOUBLE_EQ(found.period_ns, 10.5e6);
  Table table = python_functions_table(m, found);
  EXPECT_EQ(table.rows.size(), 3u);
  std::string notes;
  for (const std::string& line : table.footer) notes += line + "\n";
  EXPECT_NE(notes.find("20 samples of thread " + std::to_string(kPid) + " at 100 Hz"), notes.npos) << notes;
  EXPECT_NE(notes.find("Other 80.0 %, CPU Exec 20.0 %"), notes.npos) << notes;
  EXPECT_NE(notes.find("1 look would have come too late"), notes.npos) << notes;
  EXPECT_NE(notes.find("3 times a thread's frames could not be read"), notes.npos) << notes;
}

// Two samples of work whose innermost native frame is at 0x20, one at 0x30, and one without native frames.
TEST_F(SamplesTest, native_frames_are_inside_of_python_and_counted_apart) {
  s.stack(4, 0, 0, 0x10);
  s.stack(5, 4, 0, 0x20);
  s.stack(6, 4, 0, 0x30);
  u64 ns = kStart + 1000;
  for (u32 native : {5u, 6u, 5u}) s.sample(kPid, 1, ns += 1000, 2, kSampleOnCpu, native, 40'000 + native);
  s.sample(kPid, 1, ns += 1000, 2, kSampleNoNative);
  s.sample_round(1, ns, 4, 0, 0);
  s.info(kSamplesWhyNoNative, "it has ended");
  Model made = model(), read = through_a_trace(made);
  for (const Model* m : {&made, &read}) {
    EXPECT_EQ(text(*m, m->samples[0].stack), "0x20;0x10;main.py(11): work;main.py(1): <module>;");
    EXPECT_EQ(text(*m, m->samples[3].stack), "main.py(11): work;main.py(1): <module>;");
    NameClasses classes(*m);
    PythonSamples found = python_samples(*m, classes, windows_of(*m));
    ASSERT_EQ(found.functions.size(), 2u);
    EXPECT_EQ(found.functions[0].function, "work");
    EXPECT_EQ(found.functions[0].self, 4u);
    EXPECT_EQ(found.functions[0].native, "0x20");
    EXPECT_EQ(found.functions[0].native_samples, 2u);
    ASSERT_EQ(found.natives.size(), 3u);
    EXPECT_EQ(found.natives[0].function, "0x20");
    EXPECT_EQ(found.natives[0].self, 2u);
    EXPECT_EQ(found.natives[2].function, "0x10");
    EXPECT_EQ(found.natives[2].total, 3u);
    EXPECT_EQ(m->sampled.no_native, 1u);
    EXPECT_EQ(m->sampled.stops, 3u);
    EXPECT_EQ(m->sampled.longest_ns, 40'006u);
    EXPECT_EQ(m->sampled.why_no_native, "it has ended");
  }
}

TEST_F(SamplesTest, those_of_a_thread_that_was_not_stopped_say_so) {
  s.sample(kPid, 1, kStart + 1000, 2, kSampleNotStopped);
  s.sample(kPid, 1, kStart + 2000, 2, 0);
  Model made = model(), read = through_a_trace(made);
  for (const Model* m : {&made, &read}) {
    EXPECT_EQ(m->samples[0].flags, u32(kSampleNotStopped));
    EXPECT_EQ(m->samples[1].flags, 0u);
    EXPECT_EQ(m->sampled.not_stopped, 1u);
  }
}

TEST_F(SamplesTest, the_spot_is_the_innermost_line_of_a_third) {
  add_samples();
  Model m = model();
  NameClasses classes(m);
  auto spot = python_spot(m, other_time(m, classes, windows_of(m)));
  ASSERT_TRUE(spot);
  EXPECT_EQ(spot->text(), "main.py:21 idle");
  EXPECT_EQ(spot->samples, 10u);
  EXPECT_EQ(spot->of, 16u);
  EXPECT_FALSE(python_spot(m, IntervalSet(m.begin_ns, m.begin_ns + i64(20 * kMs))));  // too few samples
}

TEST_F(SamplesTest, a_recording_without_them_says_why) {
  b.write(path());
  auto recording = Recording::open(path());
  Meta meta = recording->read_meta();
  Model m = build_model(*recording, meta, request_of(meta.windows.at(0), meta));
  EXPECT_EQ(m.sampled.why_not, "there is no file with samples beside the recording");
  EXPECT_FALSE(m.empty());
  NameClasses classes(m);
  Table table = python_functions_table(m, python_samples(m, classes, windows_of(m)));
  ASSERT_FALSE(table.footer.empty());
  EXPECT_EQ(table.footer.back(), "Not sampled: there is no file with samples beside the recording");
}

TEST_F(SamplesTest, a_file_of_another_program_or_no_recording_is_not_read) {
  add_samples();
  s.header.created_ns++;
  Model m = model();
  EXPECT_TRUE(m.samples.empty());
  EXPECT_TRUE(m.sampled.why_not.ends_with("is of another program")) << m.sampled.why_not;
  std::ofstream(samples_of(path())) << "nonsense";
  auto recording = Recording::open(path());
  Meta meta = recording->read_meta();
  m = build_model(*recording, meta, request_of(meta.windows.at(0), meta));
  EXPECT_TRUE(m.samples.empty());
  EXPECT_FALSE(m.sampled.why_not.empty());
  EXPECT_FALSE(m.empty());
}

TEST_F(SamplesTest, a_file_of_another_program_is_not_punched) {
  add_samples();
  s.header.pid++;
  model();
  ConvertState state;
  state.windows.insert(0);
  punch_written(path(), state);
  u64 left = 0;
  Recording::open(samples_of(path()))->for_each_data(0, 100, [&](const RecordView&) { left++; });
  EXPECT_EQ(left, 60u);
}

TEST_F(SamplesTest, frames_of_a_trace_may_lead_nowhere_or_back) {
  std::string trace = dir.path + "/t.pt.trace.json";
  std::ofstream(trace) << R"({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1,
    "dur": 5}], "samples": [{"name": "python", "tid": 1, "ts": 2, "sf": 1}, {"name": "python", "tid": 1, "ts": 3,
    "sf": 2}, {"name": "python", "tid": 1, "ts": 4, "sf": 9}, {"name": "other"}, 7], "stackFrames": {"1": {"name": "x",
    "parent": 2}, "2": {"name": "y", "parent": 1}}})";
  Model m = kineto::read_trace(trace);
  ASSERT_EQ(m.samples.size(), 3u);
  EXPECT_EQ(m.ledger.left_out.at("samples of another kind"), 2u);
  for (const StackSample& x : m.samples) EXPECT_LE(text(m, x.stack).size(), 12u);
  EXPECT_EQ(m.samples[2].stack, 0u);
}

TEST_F(SamplesTest, those_of_windows_that_are_written_are_punched_out) {
  add_samples();
  b.window(1, WindowState::active, 5, 7, kStart + 300 * kMs, kStart + 300 * kMs, 0);
  s.sample(kPid, 3, kStart + 301 * kMs, 2, 0);
  Model m = model();
  ConvertState state;
  state.windows.insert(0);
  punch_written(path(), state);
  auto file = Recording::open(samples_of(path()));
  u64 left = 0;
  file->for_each_data(0, 100, [&](const RecordView& view) { left += view.kind() == Kind::sample; });
  EXPECT_EQ(left, 1u);
  EXPECT_EQ(file->read_meta().stacks.size(), 3u);
}

}  // namespace
}  // namespace tprof
