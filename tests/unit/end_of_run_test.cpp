// What `tprof run` reads when its program has ended: which files, which windows, and the steps of a trace's text.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "input/step_marks.h"
#include "run/newest.h"
#include "run/span_choice.h"

namespace tprof {
namespace {

using Words = std::vector<std::string>;

// --- which windows

SpanOfRun span(size_t trace, const std::string& worker, u64 steps, u64 events, double step_ns = 1) {
  SpanOfRun out{trace, {"run", worker, std::to_string(trace + 1)}};
  out.time.begin_ns = 1000 * trace;
  out.time.end_ns = out.time.begin_ns + 1000;
  out.steps = steps, out.events = events, out.step_ns = step_ns;
  return out;
}

std::vector<size_t> traces_of(const SpanChoice& choice) {
  std::vector<size_t> out;
  for (const SpanOfRun& one : choice.spans) out.push_back(one.trace);
  return out;
}

using Traces = std::vector<size_t>;

TEST(SpanChoice, IsTheLongestOfEachProcess) {
  SpanChoice choice =
      choose_spans({span(0, "a", 5, 10), span(1, "a", 3, 6), span(2, "b", 4, 8), span(3, "b", 4, 8)}, 100);
  EXPECT_EQ(choice.covers, Covers::whole);
  EXPECT_EQ(traces_of(choice), (Traces{0, 3}));
  EXPECT_TRUE(choice.spans[0].alone_longest);
  EXPECT_FALSE(choice.spans[1].alone_longest);
}

TEST(SpanChoice, IsOneThatFitsWhereTheLongestIsTooLarge) {
  SpanChoice choice = choose_spans({span(0, "a", 50, 500), span(1, "a", 20, 200), span(2, "a", 0, 1)}, 300);
  EXPECT_EQ(choice.covers, Covers::that_fit);
  EXPECT_EQ(traces_of(choice), Traces{1});
}

TEST(SpanChoice, IsNoRestWithoutStepsOfAProgramThatMadeSome) {
  SpanChoice choice = choose_spans({span(0, "a", 50, 500), span(1, "a", 0, 1)}, 300);
  EXPECT_EQ(choice.covers, Covers::steps_only);
  EXPECT_EQ(traces_of(choice), Traces{0});
}

TEST(SpanChoice, IsOfTheProcessWithTheLongestStepsWhereAllAreTooMuch) {
  SpanChoice choice = choose_spans({span(0, "a", 5, 200, 7), span(1, "b", 5, 200, 9), span(2, "c", 5, 200, 8)}, 300);
  EXPECT_EQ(choice.covers, Covers::one_process);
  EXPECT_EQ(traces_of(choice), Traces{1});
  EXPECT_EQ(choice.processes, 3u);
}

TEST(SpanChoice, CountsWhatRanBeforeTheTrainingOnlyIfThereIsNothingElse) {
  std::vector<SpanOfRun> spans = {span(0, "a", 9, 10), span(1, "b", 4, 10)};
  spans[0].before_training = true;
  EXPECT_EQ(traces_of(choose_spans(spans, 100)), Traces{1});
  spans.pop_back();
  EXPECT_EQ(traces_of(choose_spans(spans, 100)), Traces{0});
  EXPECT_TRUE(choose_spans({}, 100).spans.empty());
}

// --- which files

TEST(Newest, AreThoseThatFitAndAtLeastOne) {
  char name[] = "/tmp/tprof-newest-XXXXXX";
  std::string directory = mkdtemp(name);
  Words files;
  for (int i = 0; i < 4; i++) {
    files.push_back(directory + "/" + std::to_string(i));
    std::ofstream(files[i]) << std::string(100, 'x');
    timespec times[2] = {{1000 - 10 * i, 0}, {1000 - 10 * i, 0}};  // the first is the newest
    utimensat(AT_FDCWD, files[i].c_str(), times, 0);
  }
  EXPECT_EQ(newest_within(files, 1000), files);
  EXPECT_EQ(newest_within(files, 299), (Words{files[0], files[1]}));
  EXPECT_EQ(newest_within(files, 10), Words{files[0]});
  EXPECT_EQ(newest_within({}, 10), Words{});
  std::filesystem::remove_all(directory);
}

// --- the steps of a trace's text

std::string line(const std::string& category, const std::string& name, const char* ts, const char* dur,
                 const std::string& args = "") {
  return R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name + R"(", "pid": 1, "tid": 1, "ts": )" + ts +
         R"(, "dur": )" + dur + R"(, "args": {)" + args + "}},\n";
}

std::vector<StepMark> marks_of(const std::string& text, size_t block) {
  StepMarks marks;
  for (size_t at = 0; at < text.size(); at += block) marks.feed(std::string_view(text).substr(at, block));
  return marks.take();
}

TEST(StepMarks, AreTheStepsWhereverTheTextIsCut) {
  std::string text = "{\"traceEvents\": [\n" + line("user_annotation", "ProfilerStep#7", "200.500", "90.125") +
                     line("cpu_op", "aten::add", "201.000", "1.000") +
                     line("user_annotation", "ProfilerStep#6", "100.000", "100.250") +
                     line("user_annotation", "Evaluation#0", "210.000", "20.000", R"("Stretch": "inside a step")") +
                     "{}\n]}\n";
  for (size_t block = 1; block <= text.size(); block++) {
    std::vector<StepMark> steps = marks_of(text, block);
    ASSERT_EQ(steps.size(), 2u) << block;
    EXPECT_EQ(steps[0].number, 6);
    EXPECT_EQ(steps[0].dur_ns, 100'250);
    EXPECT_FALSE(steps[0].evaluates);
    EXPECT_EQ(steps[1].number, 7);
    EXPECT_EQ(steps[1].begin_ns, 200'500);
    EXPECT_EQ(steps[1].dur_ns, 90'125);
    EXPECT_TRUE(steps[1].evaluates);
  }
}

TEST(StepMarks, AreNotWhatOnlyLooksLikeOne) {
  std::string text =
      line("gpu_user_annotation", "ProfilerStep#1", "1", "2") + line("user_annotation", "ProfilerStep#x", "1", "2") +
      line("user_annotation", "ProfilerStep#99999999999999999999", "1", "2") +
      line("user_annotation", R"(\"name\": \"ProfilerStep#1)", "1", "2") +
      line("user_annotation", "ProfilerStep#1", "\"1\"", "2") + line("user_annotation", "ProfilerStep#1", "1", "-2") +
      R"({"cat": 3, "name": "ProfilerStep#1"})"
      "\n"
      R"("name": "ProfilerStep#1")"
      "\n" +
      line("user_annotation", "ProfilerStep#2", "1", "2", "\"long\": \"" + std::string(100'000, 'x') + '"');
  EXPECT_TRUE(marks_of(text, 1000).empty());
  EXPECT_TRUE(marks_of(text, text.size()).empty());
}

}  // namespace
}  // namespace tprof
