// The overview: against figures reckoned by hand, and against a slow, obvious reference on random traces.
#include "analysis/time/overview.h"

#include <gtest/gtest.h>

#include <random>

#include "kineto/read/read.h"
#include "plugin_compat/overview.h"
#include "recording_builder.h"

namespace tprof {
namespace {

// A trace in whole microseconds, and when what of it is busy.
struct RandomTrace {
  struct Range {
    Category category;
    int begin, end;
  };
  std::vector<Range> ranges;
  std::vector<std::pair<int, int>> steps;
  std::string json;

  explicit RandomTrace(u32 seed) {
    std::mt19937 random(seed);
    auto number = [&](int below) { return static_cast<int>(random() % static_cast<u32>(below)); };
    std::string events;
    auto add = [&](const std::string& cat, const std::string& name, int tid, int begin, int end,
                   const std::string& args) {
      events += (events.empty() ? "" : ",") + std::string(R"({"ph": "X", "cat": ")") + cat + R"(", "name": ")" + name +
                R"(", "pid": )" + (cat == "kernel" ? "0" : "7") + R"(, "tid": )" + std::to_string(tid) + R"(, "ts": )" +
                std::to_string(begin) + R"(, "dur": )" + std::to_string(end - begin) + R"(, "args": )" + args + "}";
    };
    int at = number(50);
    for (int i = 0, n = 1 + number(5); i < n; i++) {
      int end = at + 50 + number(300);
      steps.push_back({at, end});
      add("user_annotation", "ProfilerStep#" + std::to_string(i), 1, at, end, "{}");
      at = end + number(20);
    }
    struct Kind {
      Category category;
      const char *cat, *name, *args;
    };
    static constexpr Kind kKinds[] = {
        {Category::kernel, "kernel", "gemm", R"({"device": 0, "stream": 7})"},
        {Category::copy, "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", R"({"device": 0, "stream": 7})"},
        {Category::set, "gpu_memset", "Memset (Device)", R"({"device": 0, "stream": 7})"},
        {Category::communication, "kernel", "ncclDevKernel_AllReduce", R"({"device": 0, "stream": 8})"},
        {Category::runtime, "cuda_runtime", "cudaLaunchKernel", "{}"},
        {Category::runtime, "cuda_driver", "cuLaunchKernelEx", "{}"},
        {Category::data_loading, "user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
         "{}"},
        {Category::cpu, "cpu_op", "aten::mm", "{}"},
    };
    for (int i = 0, n = number(60); i < n; i++) {
      const Kind& kind = kKinds[number(std::size(kKinds))];
      int begin = number(at + 20), end = begin + number(60);
      ranges.push_back({kind.category, begin, end});
      add(kind.cat, kind.name, 100 + i, begin, end, kind.args);  // threads of their own: nothing crosses
    }
    json = "{\"traceEvents\": [" + events + "]}";
  }
};

TEST(OverviewTest, random_traces_agree_with_a_count_of_every_microsecond) {
  test::TempDir dir;
  std::string path = dir.path + "/t.json";
  for (u32 seed = 0; seed < 200; seed++) {
    RandomTrace trace(seed);
    std::ofstream(path) << trace.json;
    Overview o = overview_of(kineto::read_trace(path));
    ASSERT_EQ(o.steps.size(), trace.steps.size()) << seed;  // no work was launched in a step: none is stretched
    for (size_t s = 0; s < o.steps.size(); s++) {
      CategoryTimes expected{};
      for (int us = trace.steps[s].first; us < trace.steps[s].second; us++) {
        u32 first = kCategories - 1;
        for (const auto& r : trace.ranges)
          if (r.begin <= us && us < r.end) first = std::min(first, static_cast<u32>(r.category));
        expected[first]++;
      }
      double sum = 0;
      for (u32 c = 0; c < kCategories; c++) {
        EXPECT_NEAR(o.steps[s].by[c], expected[c], 1e-6) << seed << " step " << s << " " << category_text(Category(c));
        sum += o.steps[s].by[c];
      }
      EXPECT_NEAR(sum, o.steps[s].us, 1e-6) << seed;
      EXPECT_NEAR(sum, trace.steps[s].second - trace.steps[s].first, 1e-6) << seed;
    }
  }
}

class OneStep : public testing::Test {
 protected:
  void read(const std::string& events) {
    std::string path = dir.path + "/t.json";
    std::ofstream(path) << "{\"traceEvents\": [" + events + "]}";
    PluginTrace trace;
    Model model = kineto::read_trace(path, &trace);
    ours = overview_of(model);
    plugin = plugin_overview(model, trace);
    why = differences(model, trace, ours, plugin);
  }
  static std::string x(const std::string& cat, const std::string& name, int pid, int ts, int dur,
                       const std::string& args) {
    return R"({"ph": "X", "cat": ")" + cat + R"(", "name": ")" + name + R"(", "pid": )" + std::to_string(pid) +
           R"(, "tid": 7, "ts": )" + std::to_string(ts) + R"(, "dur": )" + std::to_string(dur) + R"(, "args": )" +
           args + "}";
  }
  static double by(const Overview& o, Category c) { return o.average.by[static_cast<u32>(c)]; }
  bool explained(const std::string& part) const {
    for (const std::string& line : why)
      if (line.find(part) != line.npos) return true;
    return false;
  }
  test::TempDir dir;
  Overview ours, plugin;
  std::vector<std::string> why;
};

const char kGpu[] = R"({"device": 0, "stream": 7, "correlation": 1, "External id": 2})";

TEST_F(OneStep, a_gpu_that_is_always_busy_is_counted_once_by_us_and_twice_by_the_plugin) {
  read(x("user_annotation", "ProfilerStep#1", 9, 0, 1000, "{}") + "," +
       x("cpu_op", "aten::mm", 9, 100, 300, R"({"External id": 2})") + "," +
       x("cuda_runtime", "cudaLaunchKernel", 9, 110, 50, R"({"correlation": 1, "External id": 2})") + "," +
       x("kernel", "k", 0, 0, 1000, kGpu));
  EXPECT_EQ(by(ours, Category::kernel), 1000);
  EXPECT_EQ(by(ours, Category::runtime) + by(ours, Category::cpu) + by(ours, Category::other), 0);
  EXPECT_EQ(by(plugin, Category::kernel), 1000);
  EXPECT_EQ(by(plugin, Category::runtime), 50);
  EXPECT_EQ(by(plugin, Category::cpu), 250);
  EXPECT_EQ(by(plugin, Category::other), 700);
  EXPECT_TRUE(explained("twice"));
}

TEST_F(OneStep, launches_through_the_driver_are_runtime) {
  read(x("user_annotation", "ProfilerStep#1", 9, 0, 1000, "{}") + "," +
       x("cuda_driver", "cuLaunchKernelEx", 9, 110, 50, R"({"correlation": 1})") + "," +
       x("kernel", "k", 0, 500, 100, kGpu));
  EXPECT_EQ(by(ours, Category::runtime), 50);
  EXPECT_EQ(by(plugin, Category::runtime), 0);
  EXPECT_TRUE(explained("ignores 1 calls of the driver API"));
}

TEST_F(OneStep, kernels_of_nccl_communicate_and_their_enqueuing_does_not) {
  read(x("user_annotation", "ProfilerStep#1", 9, 0, 1000, "{}") + "," +
       x("user_annotation", "nccl:all_reduce", 9, 100, 40, R"({"External id": 9})") + "," +
       x("kernel", "ncclDevKernel_AllReduce_Sum", 0, 500, 100, kGpu));
  EXPECT_EQ(by(ours, Category::communication), 100);
  EXPECT_EQ(by(ours, Category::cpu), 40);
  EXPECT_EQ(by(plugin, Category::communication), 40);
  EXPECT_EQ(by(plugin, Category::kernel), 100);
  EXPECT_TRUE(explained("External ids"));
}

TEST_F(OneStep, steps_on_the_gpu_are_no_steps) {
  read(x("user_annotation", "ProfilerStep#1", 9, 0, 1000, "{}") + "," + x("cpu_op", "aten::mm", 9, 10, 10, "{}") + "," +
       x("gpu_user_annotation", "ProfilerStep#1", 0, 200, 1000, R"({"External id": 4})"));
  EXPECT_EQ(ours.steps.size(), 1u);
  EXPECT_EQ(plugin.steps.size(), 2u);
  EXPECT_TRUE(explained("annotations of the GPU for steps"));
}

TEST_F(OneStep, a_step_lasts_until_the_work_launched_in_it_is_done) {
  read(x("user_annotation", "ProfilerStep#1", 9, 0, 100, "{}") + "," +
       x("user_annotation", "ProfilerStep#2", 9, 100, 100, "{}") + "," +
       x("cuda_runtime", "cudaLaunchKernel", 9, 10, 5, R"({"correlation": 1, "External id": 0})") + "," +
       x("kernel", "k", 0, 60, 90, kGpu) + "," +
       x("cuda_runtime", "cudaLaunchKernel", 9, 110, 5, R"({"correlation": 2, "External id": 0})") + "," +
       x("kernel", "k", 0, 170, 80, R"({"device": 0, "stream": 7, "correlation": 2})"));
  for (const Overview& o : {ours, plugin}) {
    ASSERT_EQ(o.steps.size(), 2u);
    EXPECT_EQ(o.steps[0].us, 150);
    EXPECT_EQ(o.steps[1].us, 100);
  }
}

TEST_F(OneStep, last_steps_without_their_work_do_not_count_and_it_is_said) {
  std::string events;
  for (int i = 0; i < 3; i++) {
    events += (i ? "," : "") + x("user_annotation", "ProfilerStep#" + std::to_string(i), 9, 100 * i, 100, "{}");
    std::string id = std::to_string(i + 1);
    events += "," + x("cuda_runtime", "cudaLaunchKernel", 9, 100 * i + 10, 5,
                      "{\"External id\": 0, \"correlation\": " + id + "}");
    if (i < 2)
      events +=
          "," + x("kernel", "k", 0, 100 * i + 20, 10, "{\"device\": 0, \"stream\": 7, \"correlation\": " + id + "}");
  }
  read(events);
  EXPECT_EQ(ours.steps.size(), 2u);
  EXPECT_EQ(plugin.steps.size(), 2u);
  ASSERT_FALSE(ours.notes.empty());
  EXPECT_NE(ours.notes[0].find("steps 2"), std::string::npos);
}

TEST_F(OneStep, what_cannot_be_known_is_said_and_not_zero) {
  read(x("cpu_op", "aten::mm", 9, 0, 100, "{}"));
  EXPECT_TRUE(ours.gpus.empty());
  EXPECT_FALSE(ours.uses_gpu);
  ASSERT_FALSE(ours.notes.empty());
  EXPECT_NE(ours.notes[0].find("no steps"), std::string::npos);
  EXPECT_FALSE(ours.shows(Category::kernel));
}

}  // namespace
}  // namespace tprof
