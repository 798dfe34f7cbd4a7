// NVTX records of a recording, all the way to the trace.
#include <gtest/gtest.h>
#include <zlib.h>

#include <bit>
#include <nlohmann/json.hpp>

#include "check/check.h"
#include "convert/convert.h"
#include "model/build.h"
#include "recording_builder.h"

namespace tprof {
namespace {

using namespace test;
using Json = nlohmann::json;

constexpr u64 kT = kStart;

class NvtxTest : public testing::Test {
 protected:
  Json trace() {
    b.window(0, WindowState::sealed, 0, -1, kT, kT, kT + 100'000);
    b.write(dir.path + "/r.tprof");
    options.use_gzip = false;
    ConvertResult result = convert_recording(dir.path + "/r.tprof", options);
    const std::string& file = result.traces.at(0).path;
    for (const Finding& f : check_trace(file)) EXPECT_FALSE(f.is_error()) << f.line();
    std::ifstream in(file);
    return Json::parse(in);
  }
  static Json only(const Json& trace, const std::string& name) {
    std::vector<Json> found;
    for (const Json& e : trace["traceEvents"])
      if (e["name"] == name) found.push_back(e);
    EXPECT_EQ(found.size(), 1u) << name;
    return found.empty() ? Json() : found[0];
  }

  TempDir dir;
  RecordingBuilder b;
  ConvertOptions options;
};

TEST_F(NvtxTest, a_range_with_all_that_may_be_said_of_it) {
  NvtxRecord rest{};
  rest.domain = b.name("my.domain");
  rest.category = b.name("IO \"quoted\"");
  rest.color = 0x80ff0102;
  rest.payload = std::bit_cast<u64>(-2.5);
  rest.payload_type = static_cast<u8>(NvtxPayload::floating);
  b.nvtx(kPid, 1, NvtxWhat::push_pop, "full", kT + 1000, kT + 5000, rest);
  Json e = only(trace(), "full");
  EXPECT_EQ(e["ph"], "X");
  EXPECT_EQ(e["cat"], "user_annotation");
  EXPECT_EQ(e["dur"], 4.0);
  EXPECT_EQ(e["args"]["domain"], "my.domain");
  EXPECT_EQ(e["args"]["category"], "IO \"quoted\"");
  EXPECT_EQ(e["args"]["color"], "#80FF0102");
  EXPECT_EQ(e["args"]["payload"], -2.5);
}

TEST_F(NvtxTest, payloads_of_each_type_and_numbers_that_json_lacks) {
  auto with = [&](const char* name, NvtxPayload type, u64 bits) {
    NvtxRecord rest{};
    rest.payload_type = static_cast<u8>(type);
    rest.payload = bits;
    b.nvtx(kPid, 1, NvtxWhat::mark, name, kT + 1000, 0, rest);
  };
  with("unsigned", NvtxPayload::unsigned_integer, ~u64(0));
  with("signed", NvtxPayload::integer, ~u64(0));
  with("nan", NvtxPayload::floating, std::bit_cast<u64>(std::numeric_limits<double>::quiet_NaN()));
  with("infinite", NvtxPayload::floating, std::bit_cast<u64>(-std::numeric_limits<double>::infinity()));
  with("unknown", static_cast<NvtxPayload>(77), 5);
  Json t = trace();
  EXPECT_EQ(only(t, "unsigned")["args"]["payload"], ~u64(0));
  EXPECT_EQ(only(t, "signed")["args"]["payload"], -1);
  EXPECT_EQ(only(t, "nan")["args"]["payload"], "nan");
  EXPECT_EQ(only(t, "infinite")["args"]["payload"], "-inf");
  EXPECT_TRUE(only(t, "unknown")["args"]["payload"].is_null());
}

TEST_F(NvtxTest, a_mark_is_an_instant_among_the_others_in_time) {
  NvtxRecord rest{};
  rest.category = 99 | kNvtxNumber;
  b.range(kPid, 1, "aten::add", kT + 1000, kT + 2000);
  b.nvtx(kPid, 1, NvtxWhat::mark, "late", kT + 4000, 0, rest);
  b.nvtx(kPid, 1, NvtxWhat::mark, "early", kT + 500, 0);
  b.memory(kPid, 1, kT + 3000, 64, 64);
  Json t = trace();
  Json e = only(t, "late");
  EXPECT_EQ(e["ph"], "i");
  EXPECT_FALSE(e.contains("dur"));
  EXPECT_EQ(e["args"]["category"], 99);
  std::vector<std::string> order;
  for (const Json& event : t["traceEvents"])
    for (const char* name : {"early", "aten::add", "[memory]", "late"})
      if (event["name"] == name) order.push_back(name);
  EXPECT_EQ(order, (std::vector<std::string>{"early", "aten::add", "[memory]", "late"}));
  EXPECT_EQ(t["tprof"]["written"], 4);
  EXPECT_EQ(t["tprof"]["seen"], 4);
}

TEST_F(NvtxTest, ends_from_elsewhere_and_ends_that_never_came) {
  RecordRef started = b.nvtx(kPid, 1, NvtxWhat::start_end, "started", kT + 1000, 0);
  b.nvtx(kPid, 1, NvtxWhat::start_end, "never ended", kT + 2000, 0);
  b.range_end(kPid + 1, 1, started, kT + 9000);
  Json t = trace();
  EXPECT_EQ(only(t, "started")["dur"], 8.0);
  EXPECT_EQ(only(t, "never ended")["args"]["tprof"], "clipped at window end");
}

TEST_F(NvtxTest, an_operator_inside_a_range_is_its_child) {
  b.nvtx(kPid, 1, NvtxWhat::push_pop, "forward", kT + 1000, kT + 9000);
  b.range(kPid, 1, "aten::mm", kT + 2000, kT + 3000);
  b.window(0, WindowState::sealed, 0, -1, kT, kT, kT + 100'000);
  b.write(dir.path + "/m.tprof");
  auto recording = Recording::open(dir.path + "/m.tprof");
  Meta meta = recording->read_meta();
  Model model = build_model(*recording, meta, request_of(meta.windows[0], meta));
  ASSERT_EQ(model.events.size(), 2u);
  EXPECT_EQ(model.name_of(model.events[0]), "forward");
  EXPECT_EQ(model.events[1].parent, 0);
}

TEST_F(NvtxTest, names_that_look_like_steps_are_guarded_and_real_steps_replaced) {
  b.nvtx(kPid, 1, NvtxWhat::push_pop, "ProfilerStep#x", kT + 1000, kT + 2000);
  b.nvtx(kPid, 1, NvtxWhat::mark, "ProfilerStep", kT + 1500, 0);
  b.nvtx(kPid, 1, NvtxWhat::push_pop, "ProfilerStep#7", kT + 3000, kT + 9000);
  b.range(kPid, 1, "aten::mm", kT + 4000, kT + 5000);
  b.step(0, kT + 3000, kT + 9000, kStepHasWork, StepBy::option);
  Json t = trace();
  only(t, "range ProfilerStep#x");
  only(t, "range ProfilerStep");
  only(t, "ProfilerStep#0");
  for (const Json& e : t["traceEvents"]) EXPECT_NE(e["name"], "ProfilerStep#7");
  EXPECT_EQ(t["tprof"]["replaced_step_marks"], 1);
}

TEST_F(NvtxTest, names_of_any_length_for_threads) {
  b.thread(kPid, 1, "sixteen-letters!");
  b.thread(kPid + 1, 0, "a name that is longer than the kernel's");
  b.nvtx(kPid, 1, NvtxWhat::push_pop, "a", kT + 1000, kT + 2000);
  b.nvtx(kPid + 1, 1, NvtxWhat::push_pop, "b", kT + 1000, kT + 2000);
  std::set<std::string> names;
  Json t = trace();
  for (const Json& e : t["traceEvents"])
    if (e["name"] == "thread_name") names.insert(e["args"]["name"]);
  EXPECT_TRUE(names.count("thread 4242 (sixteen-letters!)"));
  EXPECT_TRUE(names.count("thread 4243 (a name that is longer than the kernel's)"));
}

}  // namespace
}  // namespace tprof
