// Python calls in the Model: names, parents, where they cross what is no call, how deep they may be, and who is no
// operator.
#include <gtest/gtest.h>

#include "model/build.h"
#include "model/python.h"
#include "recording_builder.h"

namespace tprof {
namespace {

using namespace test;

constexpr u64 kT = kStart, kMs = 1'000'000;

class PythonTest : public testing::Test {
 protected:
  PythonTest() {
    b.window(0, WindowState::sealed, 0, -1, kT, kT, kT + 100 * kMs);
    b.code(1, "Net.forward", "net.py", 7);
    b.code(2, "train.<locals>.<lambda>", "train.py", 30);
    b.module(5, "Linear", 1);
  }
  Model build() {
    b.write(dir.path + "/r.tprof");
    recording = Recording::open(dir.path + "/r.tprof");
    Meta meta = recording->read_meta();
    return build_model(*recording, meta, request_of(meta.windows.at(0), meta));
  }
  static const Event* find(const Model& m, const std::string& name) {
    for (const Event& e : m.events)
      if (m.name_of(e) == name) return &e;
    return nullptr;
  }
  void python(u32 code, u64 begin, u64 end, u32 module = 0) { b.python(kPid, 1, code, kT + begin, kT + end, module); }
  void range(const std::string& name, u64 begin, u64 end, Scope scope = Scope::function) {
    b.range(kPid, 1, name, kT + begin, kT + end, {.scope = scope});
  }

  TempDir dir;
  RecordingBuilder b;
  std::unique_ptr<Recording> recording;
};

TEST_F(PythonTest, NamesIdsAndParents) {
  python(1, 100, 900);
  range("aten::add", 200, 800);
  python(2, 300, 400);
  python(9, 500, 600, 5);
  python(3, 1000, 1100);
  Model m = build();
  ASSERT_EQ(m.events.size(), 5u);
  EXPECT_EQ(m.name_of(m.events[0]), "net.py(7): forward");
  EXPECT_EQ(m.name_of(m.events[2]), "train.py(30): <lambda>");
  EXPECT_EQ(m.name_of(m.events[3]), "nn.Module: Linear_1");
  EXPECT_EQ(m.name_of(m.events[4]), "(name lost)");
  EXPECT_EQ(m.ledger.names_lost, 1u);
  EXPECT_EQ(python_detail(m.events[0]).id, 1u);
  EXPECT_EQ(python_detail(m.events[0]).parent, 0u);
  EXPECT_EQ(python_detail(m.events[2]).parent, 1u);
  EXPECT_EQ(python_detail(m.events[3]).parent, 1u);
  EXPECT_EQ(m.events[2].parent, 1);
  EXPECT_FALSE(is_module(m.events[2]));
  ASSERT_TRUE(is_module(m.events[3]));
  const ModuleInfo& module = m.modules[python_detail(m.events[3]).module];
  EXPECT_EQ(m.names[module.class_name], "Linear");
  EXPECT_EQ(module.parameters, 20u);
  EXPECT_EQ(module.parameter_bytes, 80u);
  EXPECT_EQ(m.ledger.seen(), 5u);
}

// A label begins inside its __enter__ and ends inside its __exit__: both are cut, and what they called stays theirs.
TEST_F(PythonTest, CallsAreCutWhereALabelCrossesThem) {
  python(1, 100, 20'000);
  range("label", 10'000, kMs, Scope::user);
  python(2, 12'000, 15'000);
  python(1, kMs - 10'000, kMs + 20'000);
  Model m = build();
  ASSERT_EQ(m.events.size(), 4u);
  EXPECT_EQ(m.ledger.lanes, 0u);
  EXPECT_EQ(m.ledger.clamped, 2u);
  EXPECT_EQ(m.events[0].end_ns(), m.events[1].begin_ns - kRoundingNs);
  EXPECT_EQ(m.name_of(m.events[2]), "train.py(30): <lambda>");
  EXPECT_EQ(m.events[2].parent, 1);
  EXPECT_EQ(python_detail(m.events[2]).parent, 1u);
  EXPECT_LE(m.events[3].end_ns(), m.events[1].end_ns());
}

TEST_F(PythonTest, CallsThatCrossFarGoToALane) {
  python(1, 100, 40 * kMs);
  range("label", 20 * kMs, 60 * kMs, Scope::user);
  Model m = build();
  const Event *call = find(m, "net.py(7): forward"), *label = find(m, "label");
  ASSERT_TRUE(call && label);
  EXPECT_TRUE(m.threads[call->thread].is_lane());
  EXPECT_FALSE(m.threads[label->thread].is_lane());
  EXPECT_EQ(call->dur_ns, i64(40 * kMs - 100));
}

TEST_F(PythonTest, CallsFitIntoTheirStep) {
  b.step(3, kT + 10 * kMs, kT + 20 * kMs);
  b.step(4, kT + 20 * kMs, kT + 30 * kMs);
  python(2, 10 * kMs - 5'000, 20 * kMs + 5'000);  // begins a little before its step, ends a little behind it
  range("aten::add", 11 * kMs, 12 * kMs);
  range("aten::add", 21 * kMs, 22 * kMs);
  Model m = build();
  const Event *call = find(m, "train.py(30): <lambda>"), *step = find(m, "ProfilerStep#3");
  ASSERT_TRUE(call && step && find(m, "ProfilerStep#4"));
  EXPECT_EQ(call->thread, step->thread);
  EXPECT_GE(call->begin_ns, step->begin_ns);
  EXPECT_LE(call->end_ns(), step->end_ns());
}

TEST_F(PythonTest, DeepCallsAreFoldedBeforeModulesAndOperators) {
  constexpr u64 kLevels = 500;
  for (u64 i = 0; i < kLevels; i++) python(1, i + 1, 10 * kMs - i);
  python(1, 1'000, 9 * kMs, 5);
  range("aten::add", 2'000, 3'000);
  python(2, 2'100, 2'200);  // under the operator, too deep as well
  Model m = build();
  EXPECT_EQ(m.ledger.dropped["folded_deep"], kLevels - 100 + 1);
  EXPECT_EQ(m.ledger.seen(), kLevels + 3);
  const Event *op = find(m, "aten::add"), *module = find(m, "nn.Module: Linear_1");
  ASSERT_TRUE(op && module);
  EXPECT_EQ(module->depth, 100);
  EXPECT_EQ(op->depth, 101);
  EXPECT_EQ(python_detail(*module).parent, 100u);  // the innermost that stayed
}

TEST_F(PythonTest, WorkOfAGpuBelongsToTheOperatorAroundTheCall) {
  range("aten::mm", 1'000, 50'000);
  python(2, 2'000, 40'000);
  b.api(1, kPid, "cudaLaunchKernel", kT + 3'000, kT + 4'000, 7);
  b.kernel(1, "gemm", kT + 5'000, kT + 9'000, {0, 1, 7, 7});
  python(1, 100'000, 200'000);
  b.api(1, kPid, "cudaLaunchKernel", kT + 110'000, kT + 120'000, 8);
  Model m = build();
  ASSERT_EQ(m.calls.size(), 2u);
  ASSERT_GE(m.calls[0].op, 0);
  EXPECT_EQ(m.name_of(m.events[m.calls[0].op]), "aten::mm");
  ASSERT_TRUE(m.calls[1].op < 0 || !is_python(m.events[m.calls[1].op]));
}

TEST_F(PythonTest, ACallInsideABackwardNodeIsNotTheNode) {
  b.range(kPid, 1, "autograd::engine::evaluate_function: AddBackward0", kT + 1'000, kT + 9'000);
  python(2, 1'100, 1'200);  // a hook
  b.range(kPid, 1, "AddBackward0", kT + 2'000, kT + 8'000,
          {.scope = Scope::backward, .sequence = 4, .forward_thread = 1});
  Model m = build();
  const Event* node = find(m, "autograd::engine::evaluate_function: AddBackward0");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->sequence, 4);
}

}  // namespace
}  // namespace tprof
