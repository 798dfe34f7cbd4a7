// The GPU side: records of CUPTI and interposed calls -> Model -> trace.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/build.h"
#include "recording_builder.h"
#include "tools/check.h"
#include "tools/convert.h"
#include "tools/trace_file.h"

namespace tprof {
namespace {

using namespace test;
using Json = nlohmann::json;

constexpr u64 kT = kStart;
constexpr GpuPlace at(u32 correlation, u32 stream = 7, u32 device = 0) { return {device, 1, stream, correlation}; }

class GpuTest : public testing::Test {
 protected:
  GpuTest() { b.device(0, an_h100()); }

  void active(u64 begin, u64 end) { b.window(0, WindowState::sealed, 0, -1, begin, begin, end); }

  Model build(size_t window = 0) {
    b.write(path());
    recording = Recording::open(path());
    Meta meta = recording->read_meta();
    return build_model(*recording, meta, request_of(meta.windows.at(window)));
  }
  Json convert() {
    b.write(path());
    ConvertOptions options;
    options.use_gzip = false;
    options.force = true;
    ConvertResult r = convert_recording(path(), options);
    if (r.traces.empty()) return {};
    for (const Finding& f : check_trace(r.traces[0].path)) EXPECT_FALSE(f.is_error()) << f.line();
    std::ifstream in(r.traces[0].path);
    return Json::parse(in);
  }
  static std::vector<Json> of(const Json& trace, const std::string& category, const std::string& phase = "X") {
    std::vector<Json> out;
    for (const Json& e : trace["traceEvents"])
      if (e.value("cat", "") == category && e["ph"] == phase) out.push_back(e);
    return out;
  }
  std::string path() const { return dir.path + "/r.tprof"; }

  TempDir dir;
  RecordingBuilder b;
  std::unique_ptr<Recording> recording;
};

TEST_F(GpuTest, AKernelBelongsToTheOperatorThatLaunchedIt) {
  active(kT, kT + 1'000'000);
  b.range(kPid, 1, "aten::linear", kT + 1000, kT + 50'000);
  b.range(kPid, 1, "aten::addmm", kT + 2000, kT + 40'000);
  b.call(kPid, 1, "cudaLaunchKernel", kT + 10'000, kT + 15'000, CallFamily::launch);
  b.api(1, kPid, "cudaLaunchKernel_v7000", kT + 10'100, kT + 14'900, 5);
  KernelRecord more{};
  more.grid[0] = 264;
  more.grid[1] = more.grid[2] = 1;
  more.block[0] = 256;
  more.block[1] = more.block[2] = 1;
  more.registers = 32;
  more.dynamic_shared = 100;
  b.kernel(1, "_Z3gemPf", kT + 20'000, kT + 120'000, at(5), more);
  Json t = convert();
  auto kernels = of(t, "kernel");
  ASSERT_EQ(kernels.size(), 1u);
  const Json& k = kernels[0];
  EXPECT_EQ(k["name"], "gem(float*)");
  EXPECT_EQ(k["pid"], 0);
  EXPECT_EQ(k["tid"], 7);
  EXPECT_DOUBLE_EQ(k["dur"].get<double>(), 100.0);
  Json args = {{"External id", 2}, {"queued", 0}, {"device", 0}, {"context", 1}, {"stream", 7}, {"correlation", 5},
               {"registers per thread", 32}, {"shared memory", 100}, {"blocks per SM", 2.0}, {"warps per SM", 16.0},
               {"grid", {264, 1, 1}}, {"block", {256, 1, 1}}, {"est. achieved occupancy %", 25}};
  EXPECT_EQ(k["args"], args);
  auto calls = of(t, "cuda_runtime");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0]["name"], "cudaLaunchKernel");
  EXPECT_EQ(calls[0]["args"], (Json{{"External id", 2}, {"cbid", 211}, {"correlation", 5}}));
  EXPECT_DOUBLE_EQ(calls[0]["dur"].get<double>(), 4.8);
  auto starts = of(t, "ac2g", "s"), ends = of(t, "ac2g", "f");
  ASSERT_EQ(starts.size(), 1u);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(starts[0]["id"], ends[0]["id"]);
  EXPECT_EQ(starts[0]["ts"], calls[0]["ts"]);
  EXPECT_EQ(ends[0]["ts"], k["ts"]);
  EXPECT_EQ(t["deviceProperties"][0]["numSms"], 132);
  EXPECT_EQ(t["tprof"]["seen"], 4);
  EXPECT_EQ(t["tprof"]["written"], 4);
}

}  // namespace
}  // namespace tprof
