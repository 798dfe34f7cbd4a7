// Reading Kineto traces: both generations of words, what profilers get wrong, and what is damaged.
#include "kineto/read/read.h"

#include <gtest/gtest.h>

#include <random>

#include "analysis/tables/operators.h"
#include "analysis/time/overview.h"
#include "base/error.h"
#include "kineto/inputs.h"
#include "plugin_compat/overview.h"
#include "recording_builder.h"
#include "rounds.h"

namespace tprof {
namespace {

class ReadTest : public testing::Test {
 protected:
  Model read(const std::string& text) {
    std::ofstream(path(), std::ios::binary) << text;
    plugin = {};
    return kineto::read_trace(path(), &plugin);
  }
  Model read_events(const std::string& events, const std::string& members = "") {
    return read("{" + members + "\"traceEvents\": [" + events + "]}");
  }
  std::string path() const { return dir.path + "/t.json"; }
  test::TempDir dir;
  PluginTrace plugin;
};

std::string range(const std::string& cat, const std::string& name, const std::string& ts, const std::string& dur,
                  const std::string& args = "{}", const std::string& tid = "1") {
  return R"({"ph": "X", "cat": ")" + cat + R"(", "name": ")" + name + R"(", "pid": 7, "tid": )" + tid +
         ", \"ts\": " + ts + ", \"dur\": " + dur + ", \"args\": " + args + "}";
}

// One step of a GPU program in the words of 2021 (true) and of today.
std::string gpu_step(bool legacy) {
  std::string op = legacy ? "Operator" : "cpu_op", id = legacy ? "external id" : "External id";
  std::string tid = legacy ? "\"1\"" : "1", stream = legacy ? "\"stream 7\"" : "7";
  auto args = [&](const std::string& more) { return "{\"" + id + "\": 3, \"correlation\": 9" + more + "}"; };
  auto gpu = [&](std::string cat, std::string name, std::string ts, std::string more) {
    return R"({"ph": "X", "cat": ")" + cat + R"(", "name": ")" + name + R"(", "pid": 0, "tid": )" + stream +
           ", \"ts\": " + ts + ", \"dur\": 20, \"args\": " + args(R"(, "device": 0, "stream": 7)" + more) + "}";
  };
  return range(legacy ? "Operator" : "user_annotation", "ProfilerStep#4", "100", "100", "{}", tid) + "," +
         range(op, "aten::mm", "110", "50",
               "{\"External id\": 3, \"" + std::string(legacy ? "Input dims" : "Input Dims") +
                   R"(": [[2, 3], []], "Input type": ["float", "Scalar"], "Concrete Inputs": ["", "5"], )"
                   R"("Call stack": "a.py(3): f;b.py(7): <module>"})",
               tid) +
         "," + range(legacy ? "Runtime" : "cuda_runtime", "cudaLaunchKernel", "120", "5", args(""), tid) + "," +
         gpu(legacy ? "Kernel" : "kernel", "sgemm", "130",
             R"(, "grid": [4, 2, 1], "block": [32, 1, 1], "blocks per SM": 0.5, "warps per SM": 2.0,)"
             R"( "est. achieved occupancy %": 25, "registers per thread": 40)") +
         "," +
         gpu(legacy ? "Memcpy" : "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", "150",
             R"x(, "bytes": 2000, "memory bandwidth (GB/s)": 0.1)x") +
         "," +
         R"({"ph": "i", "s": "t", "name": "[memory]", "pid": 7, "tid": 1, "ts": 115,)"
         R"( "args": {"Device Type": 1, "Device Id": 0, "Bytes": 64, "Addr": 18446744073709551615)" +
         (legacy ? std::string() : R"(, "Total Allocated": 64, "Total Reserved": 128)") + "}}";
}

TEST_F(ReadTest, the_bytes_of_a_call_are_read_in_both_spellings) {
  for (const char* key : {"size", "bytes"}) {
    Model m = read_events(range("cuda_runtime", "cudaMalloc", "10", "5", "{\"" + std::string(key) + "\": 4096}"));
    ASSERT_EQ(m.calls.size(), 1u);
    EXPECT_EQ(m.calls[0].bytes, 4096u) << key;
  }
}

TEST_F(ReadTest, both_generations_of_words_give_the_same_model) {
  for (bool legacy : {true, false}) {
    SCOPED_TRACE(legacy);
    Model m = read_events(gpu_step(legacy));
    ASSERT_EQ(m.events.size(), 2u);
    ASSERT_EQ(m.steps.size(), 1u);
    EXPECT_EQ(m.steps[0].number, 4);
    EXPECT_EQ(m.steps[0].event, 0u);
    const Event& mm = m.events[1];
    EXPECT_EQ(m.name_of(mm), "aten::mm");
    EXPECT_EQ(mm.begin_ns, 110'000);
    EXPECT_EQ(mm.parent, 0);
    kineto::InputText inputs;
    EXPECT_EQ(inputs.of(mm), R"("Concrete Inputs": ["", "5"], "Input type": ["float", "Scalar"], )"
                             R"("Input Strides": [[], []], "Input Dims": [[2, 3], []])");
    ASSERT_NE(mm.stack, 0u);
    EXPECT_EQ(m.names[m.stacks[mm.stack].text], "a.py(3): f");
    EXPECT_EQ(m.names[m.stacks[m.stacks[mm.stack].parent].text], "b.py(7): <module>");
    ASSERT_EQ(m.calls.size(), 1u);
    EXPECT_EQ(m.calls[0].op, 1);
    EXPECT_EQ(m.calls[0].activities, 2u);
    EXPECT_EQ(m.calls[0].thread, mm.thread);
    EXPECT_EQ(static_cast<CallFamily>(m.calls[0].family), CallFamily::launch);
    ASSERT_EQ(m.gpu.size(), 2u);
    const GpuEvent &kernel = m.gpu[0], &copy = m.gpu[1];
    EXPECT_EQ(kernel.call, 0u);
    EXPECT_EQ(kernel.op, 1);
    EXPECT_EQ(kernel.device, 0u);
    EXPECT_EQ(kernel.stream, 7u);
    EXPECT_EQ(kernel.as<KernelRecord>().grid[1], 2);
    EXPECT_EQ(kernel.as<KernelRecord>().registers, 40);
    EXPECT_EQ(kernel.blocks_per_sm, 0.5f);
    EXPECT_EQ(kernel.occupancy, 25.0f);
    EXPECT_EQ(copy.as<CopyRecord>().bytes, 2000u);
    EXPECT_EQ(copy.record->id & 0xff, 1u);
    ASSERT_EQ(m.memory.size(), 1u);
    EXPECT_EQ(m.memory[0].address, ~u64(0));
    EXPECT_EQ((m.memory[0].flags & kMemoryNoTotals) != 0, legacy);
    EXPECT_TRUE(m.ledger.dropped.empty() && m.ledger.repaired.empty() && m.ledger.left_out.empty());
    EXPECT_EQ(plugin.events.size(), 6u);
  }
}

TEST_F(ReadTest, times_are_exact_to_the_nanosecond) {
  struct {
    const char* us;
    i64 ns;
  } const cases[] = {{"4396491233336.458", 4396491233336458},
                     {"7889237999999.999", 7889237999999999},
                     {"1623142623460111", 1623142623460111000},
                     {"1623142623460111.25", 1623142623460111250},
                     {"0.001", 1},
                     {"-2.5", -2500},
                     {"1e3", 1'000'000},
                     {"\"12.5\"", 12'500}};
  for (const auto& c : cases) {
    Model m = read_events(range("cpu_op", "a", c.us, "1"));
    ASSERT_EQ(m.events.size(), 1u) << c.us;
    EXPECT_EQ(m.events[0].begin_ns, c.ns) << c.us;
  }
}

TEST_F(ReadTest, a_change_of_memory_of_an_impossible_size_is_left_out_and_counted) {
  auto change = [](const char* name, const char* bytes) {
    return std::string(R"({"ph": "i", "name": ")") + name + R"(", "pid": 1, "tid": 1, "ts": 1, "args": {"Bytes": )" +
           bytes + R"(, "Addr": 4096, "Device Type": 0, "Device Id": -1}})";
  };
  struct {
    std::string event;
    bool stays;
  } const cases[] = {
      {change("[memory]", "281474976710656"), true},          {change("[memory]", "-281474976710656"), true},
      {change("[memory]", "281474976710657"), false},         {change("[memory]", "-9223372036854775808"), false},
      {change("[OutOfMemory]", "9223372036854775807"), true}, {change("[OutOfMemory]", "-1"), false},
  };
  for (const auto& c : cases) {
    Model m = read_events(c.event);
    EXPECT_EQ(m.memory.size(), c.stays ? 1u : 0u) << c.event;
    EXPECT_EQ(m.ledger.dropped["no_size"], c.stays ? 0u : 1u) << c.event;
  }
}

TEST_F(ReadTest, what_is_wrong_with_an_event_is_repaired_or_left_out_and_counted) {
  struct {
    std::string event;
    const char *map, *why;
    bool stays;
  } const cases[] = {
      {R"({"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": null})", "", "",
       true},
      {R"({"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 1, "dur": 1})", "repaired", "no_name", true},
      {R"({"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "dur": 1})", "dropped", "no_time", false},
      {R"({"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1})", "dropped", "no_duration", false},
      {R"({"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1e300, "dur": 1})", "dropped", "no_time",
       false},
      {R"({"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": NaN, "dur": 1})", "dropped", "no_time",
       false},
      {range("cpu_op", "a", "1", "-5"), "repaired", "negative_duration", true},
      {range("cpu_op", "a", "\"1\"", "5"), "repaired", "quoted_number", true},
      {range("cpu_op", "a\tb", "1", "5"), "repaired", "bad_json", true},
      {range("cpu_op", "a\\d", "1", "5"), "repaired", "bad_json", true},
      {range("cpu_op", "a", "1", "5", R"({"x": N/A, "y": -nan})"), "repaired", "bad_json", true},
      {range("cpu_op", "a\xff", "1", "5"), "repaired", "bad_utf8", true},
      {range("cpu_op", "\\ud800", "1", "5"), "repaired", "bad_json", true},
      {"17", "dropped", "not_an_object", false},
      {range("hpu_op", "a", "1", "5"), "left_out", "hpu_op", false},
      {range("gpu_user_annotation", "a", "1", "5"), "left_out", "gpu_user_annotation", false},
      {range("cpu_op", "ProfilerStep#x", "1", "5"), "repaired", "step_without_number", true},
  };
  for (const auto& c : cases) {
    Model m = read_events(c.event);
    EXPECT_EQ(m.events.size(), c.stays ? 1u : 0u) << c.event;
    for (const auto& [name, counts] :
         {std::pair("repaired", m.ledger.repaired), {"dropped", m.ledger.dropped}, {"left_out", m.ledger.left_out}}) {
      bool here = std::string(c.map) == name;
      EXPECT_EQ(counts.size(), here ? 1u : 0u) << c.event;
      EXPECT_EQ(counts.count(c.why), here ? 1u : 0u) << c.event;
    }
  }
}

TEST_F(ReadTest, names_survive_what_json_cannot_hold) {
  Model m = read_events(range("cpu_op", "a\tb \xff \\ud800 \\x", "1", "5"));
  ASSERT_EQ(m.events.size(), 1u);
  EXPECT_EQ(m.name_of(m.events[0]), "a\tb \xEF\xBF\xBD \xEF\xBF\xBD \\x");
}

TEST_F(ReadTest, what_is_no_whole_trace_is_an_error_of_one_line) {
  std::string good = "{\"traceEvents\": [" + gpu_step(false) + "]}";
  for (const std::string& text : {std::string(), std::string("[]"), std::string("{}"), good + "x",
                                  std::string("{\"traceEvents\": 5}"), good.substr(0, good.size() / 2)}) {
    try {
      read(text);
      ADD_FAILURE() << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.fault, Fault::unreadable);
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    }
  }
}

TEST_F(ReadTest, every_truncation_is_an_error) {
  std::string good = "{\"schemaVersion\": 1, \"traceEvents\": [" + gpu_step(true) + "," + gpu_step(false) + "]}";
  for (size_t n = 0; n < good.size(); n++) EXPECT_THROW(read(good.substr(0, n)), Error) << n;
}

TEST_F(ReadTest, flipped_bytes_are_read_or_refused_and_the_steps_still_add_up) {
  std::string good = "{\"deviceProperties\": [{\"id\": 0, \"name\": \"G\", \"numSms\": 4}], \"traceEvents\": [" +
                     gpu_step(true) + "," + gpu_step(false) + "]}";
  std::mt19937 random(7);
  int read_well = 0;
  for (int i = 0; i < rounds(3000); i++) {
    std::string bad = good;
    for (u32 k = 0; k <= random() % 4; k++) bad[random() % bad.size()] = static_cast<char>(random());
    try {
      Model m = read(bad);
      read_well++;
      Overview o = overview_of(m);
      for (const StepTimes& step : o.steps) {
        double sum = 0;
        for (double us : step.by) sum += us;
        EXPECT_NEAR(sum, step.us, 1e-6 * std::max(1.0, step.us));
      }
      plugin_overview(m, plugin);
    } catch (const Error&) {
    }
  }
  EXPECT_GT(read_well, rounds(500));
}

TEST_F(ReadTest, ranges_that_cross_go_to_lanes_and_rounding_is_clamped) {
  Model m = read_events(range("cpu_op", "a", "0", "100") + "," + range("cpu_op", "b", "50", "100") + "," +
                        range("cpu_op", "c", "60", "40.5"));
  EXPECT_EQ(m.ledger.lanes, 1u);
  EXPECT_EQ(m.ledger.clamped + 0, 0u);
  ASSERT_EQ(m.events.size(), 3u);
  EXPECT_EQ(m.threads[m.events[1].thread].owner, 1u);
  EXPECT_NE(m.events[1].thread, m.events[0].thread);
  EXPECT_EQ(m.events[2].parent, 0);
  EXPECT_EQ(m.events[2].end_ns(), 100'000);
}

TEST_F(ReadTest, without_ids_times_tell_what_belongs_together) {
  Model m = read_events(range("cpu_op", "a", "0", "100") + "," + range("cuda_runtime", "cudaLaunchKernel", "10", "5") +
                        R"(,{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 20, "dur": 5})");
  ASSERT_EQ(m.calls.size(), 1u);
  EXPECT_EQ(m.calls[0].op, 0);
  ASSERT_EQ(m.gpu.size(), 1u);
  EXPECT_EQ(m.gpu[0].call, kNone);
  EXPECT_EQ(m.ledger.gpu.without_call, 1u);
  EXPECT_EQ(m.gpu[0].blocks_per_sm, -1);
}

TEST_F(ReadTest, an_external_id_that_is_a_correlation_is_not_believed) {
  // pytorch/kineto#782: the call lies in b, its id is that of a.
  Model m =
      read_events(range("cpu_op", "a", "0", "10", R"({"External id": 5})") + "," +
                  range("cpu_op", "b", "20", "10", R"({"External id": 6})") + "," +
                  range("cuda_runtime", "cudaLaunchKernel", "22", "1", R"({"External id": 5, "correlation": 5})"));
  EXPECT_EQ(m.calls[0].op, 1);
}

TEST_F(ReadTest, arrows_tie_the_innermost_forward_operator_to_the_backward_node) {
  auto arrow = [](const char* cat, const char* ph, const char* ts) {
    return std::string(R"({"ph": ")") + ph + R"(", "id": 1, "pid": 7, "tid": 1, "ts": )" + ts + R"(, "cat": ")" + cat +
           R"(", "name": "x"})";
  };
  for (const char* cat : {"fwdbwd", "forward_backward"}) {
    Model m = read_events(range("cpu_op", "aten::linear", "0", "10") + "," + range("cpu_op", "aten::addmm", "0", "8") +
                          "," + range("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", "20", "10") +
                          "," + range("cpu_op", "AddmmBackward0", "20", "9") + "," + arrow(cat, "f", "20") + "," +
                          arrow(cat, "s", "0"));
    ASSERT_EQ(m.pairs.size(), 1u) << cat;
    EXPECT_EQ(m.name_of(m.events[m.pairs[0].forward]), "aten::addmm");
    EXPECT_EQ(m.name_of(m.events[m.pairs[0].backward]), "AddmmBackward0");
    EXPECT_EQ(plugin.arrows.size(), cat == std::string("fwdbwd") ? 2u : 0u);  // the plugin knows one word
  }
}

// As torch.profiler writes a launch of the runtime whose part in the driver is seen, too.
TEST_F(ReadTest, a_launch_with_two_heads_of_its_arrow_is_one_launch) {
  auto arrow = [](const char* phase, const char* pid, const char* tid, const char* ts) {
    return std::string(R"({"ph": ")") + phase + R"(", "id": 9, "pid": )" + pid + ", \"tid\": " + tid +
           ", \"ts\": " + ts + R"(, "cat": "ac2g", "name": "ac2g"})";
  };
  std::string both = R"({"External id": 3, "correlation": 9})";
  std::string outer = range("cuda_runtime", "cudaLaunchKernel", "120", "10", both);
  std::string inner = range("cuda_driver", "cuLaunchKernel", "122", "5", both);
  for (const std::string& calls : {outer + "," + inner, inner + "," + outer}) {
    Model m = read_events(range("cpu_op", "aten::mm", "110", "50", "{\"External id\": 3}") + "," + calls + "," +
                          arrow("s", "7", "1", "120") + "," + arrow("s", "7", "1", "122") + "," +
                          arrow("f", "0", "7", "140") +
                          R"(,{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 140, "dur": 20,)"
                          R"( "args": {"External id": 3, "correlation": 9, "device": 0, "stream": 7}})");
    ASSERT_EQ(m.gpu.size(), 1u);
    ASSERT_EQ(m.calls.size(), 2u);
    ASSERT_NE(m.gpu[0].call, kNone);
    EXPECT_EQ(m.names[m.calls[m.gpu[0].call].name], "cudaLaunchKernel");
    ASSERT_GE(m.gpu[0].op, 0);
    EXPECT_EQ(m.name_of(m.events[size_t(m.gpu[0].op)]), "aten::mm");
    Operators found = operators(m, build_op_tree(m), OperatorKey::name);
    for (const OperatorRow& row : found.rows)
      EXPECT_EQ(row.device_total_ns, row.name == "aten::mm" ? 20'000 : 0) << row.name;
  }
}

TEST_F(ReadTest, python_calls_and_modules) {
  Model m = read_events(
      range(
          "python_function", "nn.Module: Linear_3", "0", "10",
          R"({"Python id": 2, "Python parent id": 1, "Python module id": 11, "Parameters": 6, "Parameter bytes": 24})") +
      "," + range("python_function", "x.py(3): f", "20", "10", R"({"Python id": 4, "Python parent id": null})"));
  ASSERT_EQ(m.events.size(), 2u);
  ASSERT_EQ(m.modules.size(), 1u);
  EXPECT_EQ(m.names[m.modules[0].class_name], "Linear");
  EXPECT_EQ(m.modules[0].number, 3u);
  EXPECT_EQ(m.modules[0].parameters, 6u);
  EXPECT_EQ(m.modules[0].parameter_bytes, 24u);
  const auto& call = *m.events[0].python;
  EXPECT_TRUE(m.events[0].flags & kEventPython);
  EXPECT_EQ(call.id, 2u);
  EXPECT_EQ(call.parent, 1u);
  EXPECT_EQ(call.module, 0u);
  EXPECT_EQ(m.events[1].python->module, kNone);
}

TEST_F(ReadTest, inputs_of_every_form) {
  Model m = read_events(range(
      "cpu_op", "a", "0", "1",
      R"({"Input Dims": [[2, 8589934592], [], [[1, 2], [3]], [], [], [], [], []],)"
      R"( "Input Strides": [[8589934592, 1], [], [[2, 1], [1]], [], [], [], [], []],)"
      R"( "Input type": ["c10::Half", "double", "TensorList", "Scalar", "Scalar", "ScalarList", "ScalarList", ""],)"
      R"( "Concrete Inputs": ["", "", "", "True", "0.5", "[1, 2]", "[True, False]", ""]})"));
  kineto::InputText inputs;
  EXPECT_EQ(
      inputs.of(m.events[0]),
      R"("Concrete Inputs": ["", "", "", "True", "0.5", "[1, 2]", "[True, False]", ""], )"
      R"("Input type": ["c10::Half", "double", "TensorList", "Scalar", "Scalar", "ScalarList", "ScalarList", ""], )"
      R"("Input Strides": [[8589934592, 1], [], [[2, 1], [1]], [], [], [], [], []], )"
      R"("Input Dims": [[2, 8589934592], [], [[1, 2], [3]], [], [], [], [], []])");
}

TEST_F(ReadTest, nesting_without_end_is_no_danger) {
  std::string deep(100'000, '['), events;
  Model m = read_events(range("cpu_op", "a", "0", "1", "{\"x\": " + deep + std::string(100'000, ']') + "}"));
  EXPECT_EQ(m.events.size(), 1u);
  for (int i = 0; i < 70'000; i++)
    events += (i ? "," : "") + range("cpu_op", "d", std::to_string(i), std::to_string(200'000 - 2 * i));
  m = read_events(events);
  EXPECT_GT(m.events.size(), 60'000u);
  EXPECT_FALSE(overview_of(m).steps.empty());
}

std::string all_reduce(const char* in, const char* out) {
  return std::string(
             R"({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 9, "ts": 1, "dur": 5,)"
             R"( "args": {"device": 0, "stream": 9, "correlation": 3, "Collective name": "allreduce", "dtype": "Float",)"
             R"( "Group size": 2, "Seq": 4, "In msg nelems": )") +
         in + R"(, "Out msg nelems": )" + out + "}}";
}

TEST_F(ReadTest, collectives_of_kernels) {
  Model m = read_events(all_reduce("100", "100"));
  ASSERT_EQ(m.collectives.size(), 1u);
  EXPECT_EQ(m.names[m.collectives[0].name], "allreduce");
  EXPECT_EQ(m.collectives[0].in_elements, 100);
  EXPECT_EQ(m.collectives[0].group_size, 2);
  EXPECT_EQ(m.collectives[0].sequence, 4);
}

// As torch.profiler of 2.8 has it where a communicator is started.
TEST_F(ReadTest, what_starts_a_communicator_is_no_collective) {
  auto asked = [](const char* word, const char* ts, const char* dur, const char* elements) {
    return range("cpu_op", "record_param_comms", ts, dur,
                 std::string(R"({"Collective name": ")") + word + R"(", "In msg nelems": )" + elements + "}");
  };
  Model m = read_events(range("cpu_op", "c10d::allgather_", "10", "90") + "," + asked("all_gather", "20", "70", "5") +
                        "," + asked("init", "30", "40", "0") + "," + asked("broadcastUniqueNCCLID", "40", "20", "0"));
  ASSERT_EQ(m.collectives.size(), 1u);
  EXPECT_EQ(m.names[m.collectives[0].name], "all_gather");
  EXPECT_EQ(m.collectives[0].in_elements, 5);
}

TEST_F(ReadTest, a_collective_of_an_impossible_size_is_of_unknown_size) {
  for (const char* elements : {"9223372036854775807", "-9223372036854775808", "281474976710657"}) {
    Model m = read_events(all_reduce("100", elements));
    ASSERT_EQ(m.collectives.size(), 1u);
    EXPECT_EQ(m.collectives[0].in_elements, 100);
    EXPECT_EQ(m.collectives[0].out_elements, -1) << elements;
  }
}

}  // namespace
}  // namespace tprof
