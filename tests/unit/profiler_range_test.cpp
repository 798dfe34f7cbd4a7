// TPROF_WINDOW=cudaProfilerApi: cudaProfilerStart and Stop, as their hooks pass them on, open and close windows. Each
// case is a process of its own, since a process has one session; what counts is the traces that it leaves.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "collect/nvtx/ranges.h"
#include "collect/recorder/thread.h"
#include "collect/session/session.h"
#include "collect/start/profiler_range.h"

using namespace tprof;

namespace {

// The names of the ranges in the trace of each window, by the window's number.
using Found = std::map<int, std::vector<std::string>>;

class ProfilerRange : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/tprof-window-XXXXXX";
    ASSERT_TRUE(mkdtemp(path));
    directory_ = path;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  // Runs `program` in a child with the option, and reads its traces.
  Found record(const char* window, const std::function<void()>& program) {
    pid_t child = fork();
    if (child == 0) {
      setenv("TPROF_WINDOW", window, 1);
      setenv("TPROF_LOGDIR", directory_.c_str(), 1);
      setenv("TPROF_EXIT_WAIT", "60", 1);
      init_clock();
      if (!g_session.attach({}, StepMode::automatic) || !init_threads()) _exit(1);
      g_session.start();
      program();
      g_session.finish(kPatient_ns);
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    for (int i = 0; i < 3000 && !files(".tprof").empty(); i++) usleep(10'000);  // the finisher takes it away
    Found windows;
    for (const std::string& path : files(".gz")) {
      nlohmann::json trace = nlohmann::json::parse(unpacked(path));
      std::vector<std::string>& names = windows[trace["tprof"]["span"]["window"]];
      EXPECT_TRUE(names.empty()) << "two traces of one window";
      for (const auto& e : trace["traceEvents"])
        if (e.value("cat", "") == "user_annotation") names.push_back(e["name"]);
    }
    return windows;
  }

 private:
  static std::string unpacked(const std::string& path) {
    gzFile f = gzopen(path.c_str(), "rb");
    std::string out;
    char buffer[65536];
    for (int n; f && (n = gzread(f, buffer, sizeof buffer)) > 0;) out.append(buffer, size_t(n));
    if (f) gzclose(f);
    return out;
  }
  std::vector<std::string> files(const char* extension) {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(directory_))
      if (entry.path().extension() == extension) found.push_back(entry.path());
    return found;
  }

  std::string directory_;
};

void range(const char* name) {
  nvtx::push(name);
  nvtx::pop();
}

}  // namespace

TEST_F(ProfilerRange, each_pair_is_a_window_and_nothing_else_is_recorded) {
  EXPECT_EQ(record("cudaProfilerApi",
                   [] {
                     range("before");
                     for (const char* name : {"one", "two", "three"}) {
                       cuda_profiler_range(true);
                       range(name);
                       cuda_profiler_range(false);
                       range("between");
                     }
                   }),
            (Found{{0, {"one"}}, {1, {"two"}}, {2, {"three"}}}));
}

TEST_F(ProfilerRange, a_limit_ends_it) {
  EXPECT_EQ(record("cudaProfilerApi:2",
                   [] {
                     for (const char* name : {"one", "two", "three"}) {
                       cuda_profiler_range(true);
                       range(name);
                       cuda_profiler_range(false);
                     }
                   }),
            (Found{{0, {"one"}}, {1, {"two"}}}));
}

TEST_F(ProfilerRange, a_second_start_and_a_second_stop_change_nothing) {
  EXPECT_EQ(record("cudaProfilerApi",
                   [] {
                     cuda_profiler_range(false);
                     cuda_profiler_range(true);
                     range("one");
                     cuda_profiler_range(true);
                     range("two");
                     cuda_profiler_range(false);
                     cuda_profiler_range(false);
                     range("after");
                   }),
            (Found{{0, {"one", "two"}}}));
}

TEST_F(ProfilerRange, a_window_that_is_open_at_the_end_is_written) {
  EXPECT_EQ(record("cudaProfilerApi",
                   [] {
                     cuda_profiler_range(true);
                     range("one");
                   }),
            (Found{{0, {"one"}}}));
}

TEST_F(ProfilerRange, without_a_start_nothing_is_recorded) {
  EXPECT_EQ(record("cudaProfilerApi", [] { range("never"); }), Found{});
}

TEST_F(ProfilerRange, the_schedule_does_not_hear_of_it) {
  EXPECT_EQ(record("schedule",
                   [] {
                     range("one");
                     cuda_profiler_range(true);
                     range("two");
                     cuda_profiler_range(false);
                     range("three");
                   }),
            (Found{{0, {"one", "two", "three"}}}));
}
