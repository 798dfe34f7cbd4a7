// `tprof check`: each rule finds what it is about, and nothing is found in a good trace.
#include "check/check.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "recording_builder.h"

namespace tprof {
namespace {

using namespace test;

const char kOp[] =
    R"({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10.5, "dur": 2, "args": {"External id": 1}})";
const char kStepEvent[] =
    R"({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 1, "tid": 1, "ts": 10, "dur": 5})";
const char kMeta[] = R"({"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "x"}})";

class CheckTest : public testing::Test {
 protected:
  // Ids of what is found in a trace of the usual events and `event`.
  std::string check(const std::string& event, const std::string& top = "") {
    std::string all = std::string(kMeta) + ", " + kStepEvent + ", " + kOp + (event.empty() ? "" : ", " + event);
    return check_whole("{" + top + "\"traceEvents\": [" + all + "]}");
  }
  std::string check_whole(const std::string& text, const std::string& name = "h_1.5.pt.trace.json") {
    std::ofstream(dir.path + "/" + name, std::ios::binary) << text;
    std::string ids;
    for (const Finding& f : check_trace(dir.path + "/" + name))
      ids += (ids.empty() ? "" : " ") + std::string(f.rule->id);
    return ids;
  }
  TempDir dir;
};

TEST_F(CheckTest, GoodTrace) { EXPECT_EQ(check(""), ""); }

TEST_F(CheckTest, EachRule) {
  struct Case {
    const char* event;
    const char* id;
  } cases[] = {
      {R"(7)", "event_not_object"},
      {R"([{"name": "x"}])", "event_not_object"},
      {R"({"ph": "M"})", "event_name"},
      {R"({"ph": "i", "name": null})", "event_name"},
      {R"({"ph": "X", "name": "x", "ts": 100, "dur": 1})", "event_category"},
      {R"({"ph": "X", "name": "x", "cat": "overhead", "ts": "100", "dur": 1})", "event_time"},
      {R"({"ph": "X", "name": "x", "cat": "overhead", "ts": 100})", "event_time"},
      {R"({"ph": "X", "name": "x", "cat": "overhead", "ts": 100, "dur": 1, "args": null})", "event_args"},
      {R"({"ph": "X", "name": "x", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 100, "dur": 1, "args": {"Call stack": ["a"]}})",
       "call_stack"},
      {R"({"ph": "s", "name": "fwdbwd", "cat": "fwdbwd", "ts": 10})", "flow_id"},
      {R"({"ph": "X", "name": "ProfilerStep#x", "cat": "user_annotation", "pid": 1, "tid": 1, "ts": 100, "dur": 1})",
       "step_number"},
      {R"({"ph": "X", "name": "ProfilerStep#3", "cat": "gpu_user_annotation", "pid": 0, "tid": 7, "ts": 100, "dur": 1})",
       "gpu_step"},
      {R"({"ph": "X", "name": "x", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 100, "dur": -1})", "negative_time"},
      {R"({"ph": "X", "name": "x", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 14, "dur": 3})", "crossing"},
      {R"({"ph": "X", "name": "x", "cat": "cpu_op", "pid": 1, "tid": "a", "ts": 14, "dur": 3})", "tid_not_integer"},
      {R"({"ph": "X", "name": "x", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 100, "dur": 1, "args": {"External id": 1}})",
       "same_external_id"},
      {R"({"ph": "X", "name": "nccl:broadcast", "cat": "user_annotation", "pid": 1, "tid": 1, "ts": 100, "dur": 1, "args": {"Input Dims": [[[1]]], "Input type": ["TensorList"]}})",
       "communication_dims"},
  };
  for (const Case& c : cases) EXPECT_EQ(check(c.event), c.id) << c.event;
}

// A call with correlation 9 made by the operator, and then a kernel with these further fields and args.
std::string kernel(const std::string& fields, const std::string& args,
                   const std::string& call_args = R"("External id": 1, )") {
  return R"({"ph": "X", "name": "cudaLaunchKernel", "cat": "cuda_runtime", "pid": 1, "tid": 1, "ts": 11, "dur": 1, "args": {)" +
         call_args + R"("correlation": 9}}, {"ph": "X", "name": "k", "dur": 1, )" + fields + R"(, "args": {)" + args +
         "}}";
}

TEST_F(CheckTest, EachRuleOfTheGpu) {
  const std::string fields = R"("cat": "kernel", "pid": 0, "tid": 7, "ts": 100)";
  const std::string args = R"("device": 0, "stream": 7, "correlation": 9)";
  EXPECT_EQ(check(kernel(fields, args)), "");
  EXPECT_EQ(check(kernel(fields, R"("stream": 7, "correlation": 9)")), "kernel_device");
  EXPECT_EQ(check(kernel(R"("cat": "Kernel", "pid": 0, "tid": 7, "ts": 100)", R"("stream": 7, "correlation": 9)")),
            "kernel_device");
  EXPECT_EQ(check(kernel(R"("cat": "kernel", "pid": 64, "tid": 7, "ts": 100)",
                         R"("device": 64, "stream": 7, "correlation": 9)")),
            "kernel_device");
  EXPECT_EQ(check(kernel(fields, args + R"(, "blocks per SM": "inf")")), "blocks_per_sm");
  EXPECT_EQ(check(kernel(fields, args + R"(, "blocks per SM": 0)")), "no_blocks");
  EXPECT_EQ(check(kernel(fields, R"("device": 1, "stream": 7, "correlation": 9)")), "kernel_pid");
  EXPECT_EQ(check(kernel(fields, R"("device": 0, "correlation": 9)")), "gpu_stream");
  EXPECT_EQ(check(kernel(fields, R"("device": 0, "stream": 7, "correlation": 8)")), "work_without_call");
  EXPECT_EQ(check(kernel(fields, args, "")), "call_external_id");
  EXPECT_EQ(check(kernel(fields, args, R"("External id": 77, )")), "unknown_external_id");
  EXPECT_EQ(check(kernel(fields, args, R"("External id": 0, )")), "");
  EXPECT_EQ(check(kernel(fields, args, R"("External id": 1, "stream": 0, )")), "host_stream");
  EXPECT_EQ(check(kernel(R"("cat": "kernel", "pid": 0, "tid": 7, "ts": 10.9)", args)), "before_launch");
  const char arrow[] = R"({"ph": "s", "id": 5, "name": "ac2g", "cat": "ac2g", "pid": 1, "tid": 1, "ts": 11})";
  EXPECT_EQ(check(arrow), "");
  EXPECT_EQ(check(std::string(arrow) + ", " + arrow), "flow_reused");
  auto memory = [](const char* type, const char* device) {
    return std::string(
               R"({"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 11, "args": {"Device Type": )") +
           type + R"(, "Device Id": )" + device + "}}";
  };
  const char one_device[] = R"("deviceProperties": [{"id": 0}], )";
  EXPECT_EQ(check(memory("1", "0"), one_device), "");
  EXPECT_EQ(check(memory("1", "1"), one_device), "memory_device");
  EXPECT_EQ(check(memory("12", "0"), one_device), "memory_device_type");
}

TEST_F(CheckTest, WholeFile) {
  EXPECT_EQ(check_whole("{\"traceEvents\": [NaN]}"), "bad_json");
  EXPECT_EQ(check_whole("{\"traceEvents\": ["), "bad_json");
  EXPECT_EQ(check_whole(""), "bad_json");
  EXPECT_EQ(check_whole("[]"), "not_an_object");
  EXPECT_EQ(check_whole(std::string("[") + kOp + "]"), "not_an_object");
  EXPECT_EQ(check_whole("{}"), "no_events");
  EXPECT_EQ(check_whole("{\"traceEvents\": 3}"), "no_events");
  EXPECT_EQ(check_whole("{\"traceEvents\": []}"), "nothing_shown");
  EXPECT_EQ(check_whole(std::string("{\"traceEvents\": [") + kOp + "]}"), "first_event no_steps");
  std::string good = std::string("{\"traceEvents\": [") + kMeta + "," + kStepEvent + "]}";
  EXPECT_EQ(check_whole(good, "trace.json"), "file_name");
  EXPECT_EQ(check_whole("\x1f\x8b\x08 cut off", "h_1.6.pt.trace.json.gz"), "damaged_gzip");
  EXPECT_THROW(check_trace(dir.path + "/missing"), Error);
}

TEST_F(CheckTest, ZeroSteps) {
  std::string step =
      R"({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 1, "tid": 1, "ts": 10, "dur": 0})";
  EXPECT_EQ(check_whole(std::string("{\"traceEvents\": [") + kMeta + "," + step + "]}"), "zero_steps");
}

TEST_F(CheckTest, TooDeep) {
  std::string events;
  for (int i = 0; i < 200; i++)
    events += (i ? ", " : "") + std::string(R"({"ph": "X", "name": "x", "cat": "cpu_op", "pid": 1, "tid": 2, "ts": )") +
              std::to_string(1000 + i) + R"(, "dur": )" + std::to_string(1000 - 2 * i) + "}";
  EXPECT_EQ(check(events), "too_deep");
}

TEST_F(CheckTest, RankMustBeReadable) {
  EXPECT_EQ(check("", R"("distributedInfo": {"backend": "nccl", "rank": 12}, )"), "");
  EXPECT_EQ(check("", R"("distributedInfo": {"rank":12}, )"), "rank_unreadable");
  EXPECT_EQ(check("", R"("distributedInfo": {"rank": "12"}, )"), "rank_unreadable");
  EXPECT_EQ(check("", R"("x": {"rank": 1}, "distributedInfo": {"rank": 12}, )"), "rank_unreadable");
}

TEST_F(CheckTest, LedgerMustAddUp) {
  EXPECT_EQ(check("", R"("tprof": {"seen": 5, "written": 5, "dropped": {}}, )"), "");
  EXPECT_EQ(check("", R"("tprof": {"seen": 5, "written": 4, "dropped": {}}, )"), "ledger_sum");
  EXPECT_EQ(check("", R"("tprof": {"seen": 5, "written": 4, "dropped": {"disk_full": 1}}, )"), "events_dropped");
  EXPECT_EQ(check("", R"("tprof": {"seen": 5, "written": 5, "dropped": {}, "rank": 1}, )"), "ledger_rank");
}

TEST_F(CheckTest, GuessedStepsAreANote) {
  std::string step = R"("step": {"source": "backward", "kind": "training", "count": 4, "confidence": "guessed"})";
  EXPECT_EQ(check("", R"("tprof": {"seen": 5, "written": 5, "dropped": {}, )" + step + "}, "), "steps_guessed");
  std::vector<Finding> findings = check_trace(dir.path + "/h_1.5.pt.trace.json");
  EXPECT_TRUE(is_valid(findings));
  EXPECT_NE(findings.at(0).line().find("4 training steps"), std::string::npos);
  EXPECT_TRUE(findings[0].line().starts_with("note steps_guessed: "));
}

TEST_F(CheckTest, ErrorsMakeItInvalid) {
  std::ofstream(dir.path + "/h_1.7.pt.trace.json") << "[]";
  EXPECT_FALSE(is_valid(check_trace(dir.path + "/h_1.7.pt.trace.json")));
  for (const CheckRule& rule : check_rules()) EXPECT_GT(strlen(rule.text), 20u) << rule.id;
}

}  // namespace
}  // namespace tprof
