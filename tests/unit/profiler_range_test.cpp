// TPROF_WINDOW=cudaProfilerApi: cudaProfilerStart and Stop, as their hooks pass them on, open and close windows. Each
// case is a process of its own, since a process has one session; what it left is read with the reader.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "base/clock.h"
#include "collect/nvtx/ranges.h"
#include "collect/profiler_range.h"
#include "collect/recorder.h"
#include "collect/session.h"
#include "record/reader.h"

using namespace tprof;

namespace {

struct Seen {
  std::vector<WindowInfo> windows;
  std::map<std::string, u32> ranges;  // how often each name was recorded, in any window
};

class ProfilerRange : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/tprof-window-XXXXXX";
    ASSERT_TRUE(mkdtemp(path));
    directory_ = path;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  // Runs `program` in a child with the option; what the child recorded.
  Seen record(const char* window, const std::function<void()>& program) {
    pid_t child = fork();
    if (child == 0) {
      setenv("TPROF_WINDOW", window, 1);
      setenv("TPROF_LOGDIR", directory_.c_str(), 1);
      setenv("TPROF_EXIT_WAIT", "0", 1);
      setenv("TPROF_KEEP_RECORDING", "1", 1);
      init_clock();
      if (!g_session.attach({}, StepMode::automatic) || !init_threads()) _exit(1);
      g_session.start();
      program();
      g_session.finish();
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    Seen seen;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      if (entry.path().extension() != ".tprof") continue;
      auto recording = Recording::open(entry.path());
      Meta meta = recording->read_meta();
      seen.windows = meta.windows;
      recording->for_each_data(0, ~0u, [&](const RecordView& view) {
        if (view.kind() == Kind::nvtx) seen.ranges[meta.names[view.record->id]]++;
      });
    }
    return seen;
  }

  std::string directory_;
};

void range(const char* name) {
  nvtx::push(name);
  nvtx::pop();
}

}  // namespace

TEST_F(ProfilerRange, each_pair_is_a_window_and_nothing_else_is_recorded) {
  Seen seen = record("cudaProfilerApi", [] {
    range("before");
    for (const char* name : {"one", "two", "three"}) {
      cuda_profiler_range(true);
      range(name);
      cuda_profiler_range(false);
      range("between");
    }
  });
  ASSERT_EQ(seen.windows.size(), 3u);
  for (u32 i = 0; i < 3; i++) {
    const WindowInfo& w = seen.windows[i];
    EXPECT_EQ(w.number, i);
    EXPECT_EQ(w.state, WindowState::sealed);
    EXPECT_LT(w.begin_ticks, w.end_ticks);
    if (i) {
      EXPECT_GE(w.begin_ticks, seen.windows[i - 1].end_ticks);
    }
  }
  EXPECT_EQ(seen.ranges, (std::map<std::string, u32>{{"one", 1}, {"two", 1}, {"three", 1}}));
}

TEST_F(ProfilerRange, a_limit_ends_it) {
  Seen seen = record("cudaProfilerApi:2", [] {
    for (const char* name : {"one", "two", "three"}) {
      cuda_profiler_range(true);
      range(name);
      cuda_profiler_range(false);
    }
  });
  EXPECT_EQ(seen.windows.size(), 2u);
  EXPECT_EQ(seen.ranges, (std::map<std::string, u32>{{"one", 1}, {"two", 1}}));
}

TEST_F(ProfilerRange, a_second_start_and_a_second_stop_change_nothing) {
  Seen seen = record("cudaProfilerApi", [] {
    cuda_profiler_range(false);
    cuda_profiler_range(true);
    range("one");
    cuda_profiler_range(true);
    range("two");
    cuda_profiler_range(false);
    cuda_profiler_range(false);
    range("after");
  });
  EXPECT_EQ(seen.windows.size(), 1u);
  EXPECT_EQ(seen.ranges, (std::map<std::string, u32>{{"one", 1}, {"two", 1}}));
}

TEST_F(ProfilerRange, a_window_that_is_open_at_the_end_is_kept) {
  Seen seen = record("cudaProfilerApi", [] {
    cuda_profiler_range(true);
    range("one");
  });
  ASSERT_EQ(seen.windows.size(), 1u);
  EXPECT_EQ(seen.windows[0].state, WindowState::sealed);
  EXPECT_EQ(seen.ranges, (std::map<std::string, u32>{{"one", 1}}));
}

TEST_F(ProfilerRange, without_a_start_there_is_no_recording) {
  Seen seen = record("cudaProfilerApi", [] { range("never"); });
  EXPECT_TRUE(seen.windows.empty());
}

TEST_F(ProfilerRange, the_schedule_does_not_hear_of_it) {
  Seen seen = record("schedule", [] {
    range("one");
    cuda_profiler_range(true);
    range("two");
    cuda_profiler_range(false);
    range("three");
  });
  EXPECT_EQ(seen.windows.size(), 1u);
  EXPECT_EQ(seen.ranges.size(), 3u);
}
