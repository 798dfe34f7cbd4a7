// A trace of ours, read and written again, is the same trace: the reader understands all that the writer says.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kineto/read/read.h"
#include "kineto/write/writer.h"
#include "model/build.h"
#include "model/machine.h"
#include "recording_builder.h"

namespace tprof {
namespace {

using namespace test;
using Json = nlohmann::ordered_json;

class RoundTripTest : public testing::Test {
 protected:
  RoundTripTest() { b.device(0, an_h100()); }

  void expect_same(size_t least_events) {
    b.write(dir.path + "/r.tprof");
    auto recording = Recording::open(dir.path + "/r.tprof");
    Meta meta = recording->read_meta();
    Model made = build_model(*recording, meta, request_of(meta.windows.at(0), meta));
    Json first = written(made, "1");
    Model read = kineto::read_trace(path("1"));
    Json second = written(read, "2");
    ASSERT_GE(first["traceEvents"].size(), least_events);
    ASSERT_EQ(first["traceEvents"].size(), second["traceEvents"].size());
    for (size_t i = 0; i < first["traceEvents"].size(); i++)
      ASSERT_EQ(first["traceEvents"][i], second["traceEvents"][i]) << i;
    EXPECT_EQ(first["deviceProperties"], second["deviceProperties"]);
    EXPECT_EQ(first["tprof"]["step"], second["tprof"]["step"]);
    EXPECT_EQ(made.steps.size(), read.steps.size());
    EXPECT_EQ(made.stretches.size(), read.stretches.size());
    EXPECT_EQ(made.pairs.size(), read.pairs.size());
    EXPECT_TRUE(read.ledger.dropped.empty() && read.ledger.repaired.empty() && read.ledger.left_out.empty());
  }
  std::string path(const std::string& name) const { return dir.path + "/" + name + ".pt.trace.json"; }
  Json written(const Model& model, const std::string& name) {
    kineto::write_trace(model, path(name), false);
    std::ifstream in(path(name));
    return Json::parse(in);
  }

  TempDir dir;
  RecordingBuilder b;
};

TEST_F(RoundTripTest, operators_with_inputs_steps_and_arrows) {
  add_training(b, 6, 1, 4);
  expect_same(3 * kTrainingEvents);
}

TEST_F(RoundTripTest, what_the_finisher_saw_of_the_machine) {
  b.window(0, WindowState::sealed, 0, -1, kStart, kStart, kStart + 100'000);
  b.range(kPid, 1, "aten::all", kStart + 1000, kStart + 2000);
  b.write(dir.path + "/r.tprof");
  auto recording = Recording::open(dir.path + "/r.tprof");
  Meta meta = recording->read_meta();
  Model made = build_model(*recording, meta, request_of(meta.windows.at(0), meta));
  EXPECT_FALSE(written(made, "none")["tprof"].contains("machine"));
  MachineFigures figures = no_machine_figures();
  figures[static_cast<u32>(MachineFigure::load)] = 3.25;
  figures[static_cast<u32>(MachineFigure::waited)] = 0;
  put_machine_figures(figures, made.info);
  Json first = written(made, "1")["tprof"]["machine"];
  EXPECT_EQ(first, Json::parse(R"({"load": 3.25, "waited": 0.0})"));
  EXPECT_EQ(written(kineto::read_trace(path("1")), "2")["tprof"]["machine"], first);
}

TEST_F(RoundTripTest, evaluations_between_steps_and_inside_of_one) {
  add_training(b, 4, 0, 4);
  b.stretch(StretchKind::evaluation, 0, kStart + 185'000, kStart + 201'000, {.batches = 3, .calls = 3, .left_out = 1});
  b.stretch(StretchKind::inference, 0, kStart + 210'000, kStart + 230'000, {.calls = 2, .flags = kStretchInside});
  expect_same(4 * kTrainingEvents + 2);
}

TEST_F(RoundTripTest, inputs_of_every_form) {
  Inputs inputs;
  inputs.tensor(6, {32, 10}, {10, 1}).wide_tensor(5, {1, i64(1) << 40}, {i64(1) << 40, 1}).sparse(15, {7}).none();
  inputs.boolean(true).integer(-5).floating(0.5).floating(3).integers({1, 2}).floats({0.25, 1e-9}).booleans({1, 0});
  inputs.tensor_list(2).tensor(6, {1}, {1}).tensor(6, {2, 3}, {3, 1});
  b.window(0, WindowState::sealed, 0, -1, kStart, kStart, kStart + 100'000);
  b.range(kPid, 1, "aten::all", kStart + 1000, kStart + 2000, {.inputs = &inputs});
  expect_same(1);
}

TEST_F(RoundTripTest, work_of_a_gpu_and_the_calls_that_launched_it) {
  b.window(0, WindowState::sealed, 0, -1, kStart, kStart, kStart + 1'000'000);
  b.range(kPid, 1, "aten::addmm", kStart + 2000, kStart + 90'000);
  for (u32 i = 1; i <= 4; i++) b.api(1, kPid, "cudaLaunchKernel", kStart + i * 10'000, kStart + i * 10'000 + 5'000, i);
  KernelRecord more{};
  more.grid[0] = 264;
  more.grid[1] = more.grid[2] = 1;
  more.block[0] = 250;
  more.block[1] = more.block[2] = 1;
  more.registers = 33;
  more.dynamic_shared = 100;
  more.priority = -2;
  auto at = [](u32 correlation) { return GpuPlace{0, 1, 7, correlation}; };
  b.kernel(1, "gemm", kStart + 20'000, kStart + 120'001, at(1), more);
  b.copy(1, 1, 1, 3, kStart + 130'000, kStart + 131'007, at(2), 12345);
  b.set(1, kStart + 140'000, kStart + 141'000, at(3), 4096);
  b.kernel(1, "nothing is known of this", kStart + 150'000, kStart + 150'003, at(4));
  expect_same(13);
}

TEST_F(RoundTripTest, allocations_and_nvtx) {
  b.window(0, WindowState::sealed, 0, -1, kStart, kStart, kStart + 1'000'000);
  b.range(kPid, 1, "aten::empty", kStart + 1000, kStart + 9000);
  b.memory(kPid, 1, kStart + 2000, 512, 512);
  b.memory(kPid, 1, kStart + 3000, -512, 0);
  b.nvtx(kPid, 1, NvtxWhat::push_pop, "a range", kStart + 10'000, kStart + 20'000);
  b.nvtx(kPid, 1, NvtxWhat::mark, "a mark", kStart + 15'000, 0);
  expect_same(5);
}

}  // namespace
}  // namespace tprof
