// The option table and its parsers: what is accepted, and that each refusal names the value.
#include "base/options.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <set>
#include <string>

namespace tprof {
namespace {

struct Environment : testing::Test {
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  void clear() {
    for (int i = 0; i < kOptionRowCount; i++) unsetenv(kOptionRows[i].env);
  }
  std::string refusal() {
    Options options;
    OptionError error;
    return parse_options(options, error) ? "" : error.text;
  }
};

std::string schedule_refusal(const char* text) {
  Schedule s;
  OptionError error;
  return parse_schedule(text, s, error) ? "" : error.text;
}

std::string steps_refusal(const char* text) {
  Schedule s;
  OptionError error;
  return parse_steps(text, s, error) ? "" : error.text;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(Schedule, words_of_torch) {
  Schedule s;
  OptionError error;
  ASSERT_TRUE(parse_schedule("skip_first=10,wait=5,warmup=1,active=3,repeat=2", s, error));
  EXPECT_TRUE(s.given);
  EXPECT_EQ(s.skip_first, 10);
  EXPECT_EQ(s.wait, 5);
  EXPECT_EQ(s.warmup, 1);
  EXPECT_EQ(s.active, 3);
  EXPECT_EQ(s.repeat, 2);
  EXPECT_FALSE(s.skip_first_wait);
}

TEST(Schedule, omitted_is_zero_blanks_are_fine) {
  Schedule s;
  OptionError error;
  ASSERT_TRUE(parse_schedule("active=1, skip_first_wait=1", s, error));
  EXPECT_EQ(s.skip_first + s.wait + s.warmup + s.repeat, 0);
  EXPECT_TRUE(s.skip_first_wait);
}

TEST(Schedule, refusals_name_value_and_cure) {
  EXPECT_TRUE(has(schedule_refusal("wait=-1,active=1"), "wait=-1"));
  EXPECT_TRUE(has(schedule_refusal("active=0"), "at least 1"));
  EXPECT_TRUE(has(schedule_refusal("wait=3"), "active must be at least 1"));
  EXPECT_TRUE(has(schedule_refusal("active=1,speed=2"), "unknown word 'speed'"));
  EXPECT_TRUE(has(schedule_refusal("active=1,speed=2"), "use skip_first"));
  EXPECT_TRUE(has(schedule_refusal("active=99999999999999999999"), "99999999999999999999"));
  EXPECT_TRUE(has(schedule_refusal("active=1000000000001"), "1000000000001"));
  EXPECT_TRUE(has(schedule_refusal("active=1,active=2"), "twice"));
  EXPECT_TRUE(has(schedule_refusal("active"), "word=number"));
  EXPECT_TRUE(has(schedule_refusal("active=1,"), "word=number"));
  EXPECT_TRUE(has(schedule_refusal(""), "word=number"));
  EXPECT_TRUE(has(schedule_refusal("active=1.5"), "active=1.5"));
  EXPECT_TRUE(has(schedule_refusal("active=1,skip_first_wait=2"), "0 or 1"));
  EXPECT_TRUE(has(schedule_refusal(std::string(600, 'a').c_str()), "longer"));
}

TEST(Schedule, a_refusal_leaves_the_target_alone) {
  Schedule s;
  s.active = 7;
  OptionError error;
  EXPECT_FALSE(parse_schedule("active=0", s, error));
  EXPECT_EQ(s.active, 7);
}

TEST(Steps, one_warmup_step_before) {
  Schedule s;
  OptionError error;
  ASSERT_TRUE(parse_steps("10:13", s, error));
  EXPECT_EQ(s.skip_first, 9);
  EXPECT_EQ(s.warmup, 1);
  EXPECT_EQ(s.active, 3);
  EXPECT_EQ(s.repeat, 1);
}

TEST(Steps, from_zero_there_is_nothing_before) {
  Schedule s;
  OptionError error;
  ASSERT_TRUE(parse_steps("0:2", s, error));
  EXPECT_EQ(s.skip_first, 0);
  EXPECT_EQ(s.warmup, 0);
  EXPECT_EQ(s.active, 2);
}

TEST(Steps, refusals) {
  for (const char* bad : {"", "5", "5:", ":5", "a:b", "-1:3", "1:2:3"}) EXPECT_NE(steps_refusal(bad), "") << bad;
  EXPECT_TRUE(has(steps_refusal("5:5"), "A < B"));
  EXPECT_TRUE(has(steps_refusal("7:3"), "'7:3'"));
}

TEST(StepSource, each_kind) {
  StepSource s;
  OptionError error;
  EXPECT_TRUE(parse_step_source("auto", s, error) && s.mode == StepMode::automatic);
  EXPECT_TRUE(parse_step_source("optimizer", s, error) && s.mode == StepMode::optimizer);
  EXPECT_TRUE(parse_step_source("dataloader", s, error) && s.mode == StepMode::dataloader);
  EXPECT_TRUE(parse_step_source("backward", s, error) && s.every == 1);
  EXPECT_TRUE(parse_step_source("backward:4", s, error) && s.every == 4);
  EXPECT_TRUE(parse_step_source("range:^step [0-9]+$", s, error) && s.mode == StepMode::range);
  EXPECT_STREQ(s.pattern, "^step [0-9]+$");
  EXPECT_TRUE(parse_step_source("nvtx:^iteration", s, error) && s.mode == StepMode::nvtx);
  EXPECT_STREQ(s.pattern, "^iteration");
}

TEST(StepSource, a_bad_pattern_says_what_where_and_what_to_do) {
  StepSource s;
  OptionError error;
  EXPECT_FALSE(parse_step_source("nvtx:step (", s, error));
  EXPECT_TRUE(has(error.text, "'nvtx:step ('")) << error.text;
  EXPECT_TRUE(has(error.text, "Unmatched (")) << error.text;
  EXPECT_TRUE(has(error.text, "POSIX extended")) << error.text;
}

TEST(Window, each_kind) {
  WindowSource w;
  OptionError error;
  EXPECT_TRUE(parse_window("schedule", w, error) && !w.profiler_api);
  EXPECT_TRUE(parse_window("cudaProfilerApi", w, error) && w.profiler_api && w.limit == 0);
  EXPECT_TRUE(parse_window("cudaProfilerApi:3", w, error) && w.profiler_api && w.limit == 3);
  for (const char* bad : {"", "cudaProfiler", "cudaProfilerApi:", "cudaProfilerApi:0", "cudaProfilerApi:x", "nvtx"}) {
    error = {};
    EXPECT_FALSE(parse_window(bad, w, error)) << bad;
    EXPECT_TRUE(error) << bad;
  }
}

TEST(Mode, each_kind) {
  Mode m;
  OptionError error;
  EXPECT_TRUE(parse_mode("flight", m, error) && m.flight && m.bytes == kDefaultFlightBytes && m.seconds == 0);
  EXPECT_TRUE(parse_mode("flight:64M", m, error) && m.flight && m.bytes == 64u << 20 && m.seconds == 0);
  EXPECT_TRUE(parse_mode("flight:60s", m, error) && m.flight && m.bytes == 0 && m.seconds == 60);
  EXPECT_TRUE(parse_mode("schedule", m, error) && !m.flight);
  for (const char* bad :
       {"", "Flight", "flight:", "flight:s", "flight:0s", "flight:86401s", "flight:1.5s", "flight:-1s", "flight:15M",
        "flight:5G", "flight:64", "flight64M", "flight:64M,60s", "flight:60 s"}) {
    error = {};
    EXPECT_FALSE(parse_mode(bad, m, error)) << bad;
    EXPECT_TRUE(error) << bad;
  }
}

TEST(Triggers, each_kind) {
  Triggers t;
  OptionError error;
  EXPECT_TRUE(parse_triggers("file", t, error) && t.given && t.slow_step == 0 && !t.out_of_memory);
  EXPECT_TRUE(parse_triggers("step>1.5x", t, error) && t.slow_step == 1.5 && !t.out_of_memory);
  EXPECT_TRUE(parse_triggers("hang>60s", t, error) && t.hang_seconds == 60 && t.only_hang);
  EXPECT_TRUE(parse_triggers("file,hang>1s", t, error) && t.hang_seconds == 1 && !t.only_hang);
  EXPECT_TRUE(parse_triggers("hang>86400s,step>2x", t, error) && t.hang_seconds == 86400 && !t.only_hang);
  EXPECT_TRUE(parse_triggers("oom,step>3x", t, error) && t.slow_step == 3 && t.out_of_memory);
  for (const char* bad : {"step",       "step>",       "step>x",
                          "step>1.5",   "step>1x",     "step>0.5x",
                          "step>-2x",   "step>nanx",   "step>1001x",
                          "step>1.5xx", "step> 2x",    "step<2x",
                          "OOM",        "file,",       ",file",
                          "file oom",   "hang",        "hang>",
                          "hang>s",     "hang>0s",     "hang>5",
                          "hang>5m",    "hang>-5s",    "hang> 5s",
                          "hang>1.5s",  "hang>86401s", "hang>99999999999999999999s"}) {
    error = {};
    EXPECT_FALSE(parse_triggers(bad, t, error)) << bad;
    EXPECT_TRUE(error) << bad;
  }
}

TEST(StepSource, refusals) {
  StepSource s;
  for (const char* bad :
       {"", "epoch", "backward:0", "backward:x", "range:", "range:(", "range:[a", "nvtx", "nvtx:", "nvtx:("}) {
    OptionError error;
    EXPECT_FALSE(parse_step_source(bad, s, error)) << bad;
    EXPECT_TRUE(error) << bad;
  }
}

TEST(Bytes, units_and_bounds) {
  u64 n = 0;
  OptionError error;
  EXPECT_TRUE(parse_bytes("64M", n, error) && n == u64(64) << 20);
  EXPECT_TRUE(parse_bytes("4G", n, error) && n == u64(4) << 30);
  EXPECT_TRUE(parse_bytes("2048K", n, error) && n == u64(2) << 20);
  EXPECT_TRUE(parse_bytes("1048576", n, error) && n == u64(1) << 20);
  for (const char* bad : {"", "G", "1", "1023K", "-1G", "4T", "4GB", "4 G", "99999999999999999G", "1.5G"})
    EXPECT_FALSE(parse_bytes(bad, n, error)) << bad;
}

TEST(Signal, names) {
  int n = -1;
  OptionError error;
  EXPECT_TRUE(parse_signal("USR2", n, error) && n == SIGUSR2);
  EXPECT_TRUE(parse_signal("SIGUSR1", n, error) && n == SIGUSR1);
  EXPECT_TRUE(parse_signal("none", n, error) && n == 0);
  EXPECT_TRUE(parse_signal("RTMIN+3", n, error) && n == SIGRTMIN + 3);
  for (const char* bad : {"", "KILL", "SEGV", "INT", "12", "RTMIN+99", "RTMIN+x", "usr2"})
    EXPECT_FALSE(parse_signal(bad, n, error)) << bad;
}

TEST(Table, rows_are_consistent) {
  std::set<std::string> variables, flags;
  for (int i = 0; i < kOptionRowCount; i++) {
    const OptionRow& row = kOptionRows[i];
    EXPECT_TRUE(variables.insert(row.env).second) << row.env;
    EXPECT_TRUE(flags.insert(row.flag).second) << row.flag;
    // The flag is the variable's word.
    std::string word = row.flag + 2;
    for (char& c : word) c = c == '-' ? '_' : char(toupper(c));
    EXPECT_EQ("TPROF_" + word, row.env);
    EXPECT_GT(strlen(row.help), 10u);
  }
}

TEST_F(Environment, defaults_of_the_table) {
  Options o;
  OptionError error;
  ASSERT_TRUE(parse_options(o, error)) << error.text;
  EXPECT_FALSE(o.schedule.given);
  EXPECT_TRUE(o.record_shapes);
  EXPECT_FALSE(o.with_flops);
  EXPECT_TRUE(o.use_gzip);
  EXPECT_EQ(o.signal, SIGUSR2);
  EXPECT_EQ(o.max_size, u64(4) << 30);
  EXPECT_EQ(o.exit_wait, 10);
  EXPECT_TRUE(o.autostart);
  EXPECT_FALSE(o.disable);
  EXPECT_EQ(o.with_stack.bits, 0u);
  EXPECT_EQ(o.stack_on.bits, u32(kStackOnLaunch | kStackOnAlloc | kStackOnSync));
}

TEST_F(Environment, lists_of_words) {
  Options o;
  OptionError error;
  setenv("TPROF_WITH_STACK", "1,native", 1);
  setenv("TPROF_STACK_ON", "sync", 1);
  ASSERT_TRUE(parse_options(o, error)) << error.text;
  EXPECT_EQ(o.with_stack.bits, u32(kStackOperators | kStackNative));
  EXPECT_EQ(o.stack_on.bits, u32(kStackOnSync));
  setenv("TPROF_WITH_STACK", "0", 1);
  ASSERT_TRUE(parse_options(o, error)) << error.text;
  EXPECT_EQ(o.with_stack.bits, 0u);
  for (const char* bad : {"2", "1,", "call", "0,1", ",1", "1|calls"}) {
    setenv("TPROF_WITH_STACK", bad, 1);
    error = {};
    EXPECT_FALSE(parse_options(o, error)) << bad;
    EXPECT_NE(strstr(error.text, "TPROF_WITH_STACK: '"), nullptr) << error.text;
  }
}

TEST_F(Environment, of_a_command_is_shown_only_that_it_is_set) {
  Options o;
  OptionError error;
  char text[256];
  auto shown = [&](const char* field) {
    for (int i = 0; i < kOptionRowCount; i++)
      if (!strcmp(kOptionRows[i].field, field)) return std::string(option_value(o, i, text));
    return std::string("?");
  };
  setenv("TPROF_ON_TRACE_READY", "send --key 1 {}", 1);
  ASSERT_TRUE(parse_options(o, error)) << error.text;
  EXPECT_EQ(shown("on_trace_ready"), "set");
  EXPECT_EQ(shown("on_hang"), "");
}

TEST_F(Environment, sampling_has_a_rate) {
  Options o;
  OptionError error;
  char text[256];
  auto shown = [&] {
    for (int i = 0; i < kOptionRowCount; i++)
      if (!strcmp(kOptionRows[i].field, "sample")) return std::string(option_value(o, i, text));
    return std::string();
  };
  for (auto [given, hz, all] : {std::tuple{"python", 100u, "python:100"},
                                {"python:1", 1u, "python:1"},
                                {"python:1000", 1000u, "python:1000"},
                                {"native", 100u, "native:100"},
                                {"native:20", 20u, "native:20"},
                                {"0", 0u, "0"}}) {
    setenv("TPROF_SAMPLE", given, 1);
    ASSERT_TRUE(parse_options(o, error)) << error.text;
    EXPECT_EQ(o.sample.hz, hz);
    EXPECT_EQ(o.sample.native, given[0] == 'n');
    EXPECT_EQ(shown(), all);
  }
  for (const char* bad : {"1", "native:", "natives", "python,native", ":5", "python:", "python:0", "python:1001",
                          "python:x", "python,1", "Python"}) {
    setenv("TPROF_SAMPLE", bad, 1);
    error = {};
    EXPECT_FALSE(parse_options(o, error)) << bad;
    EXPECT_NE(strstr(error.text, "TPROF_SAMPLE: '"), nullptr) << error.text;
  }
}

TEST_F(Environment, presets_and_what_overrides_them) {
  Options o;
  OptionError error;
  setenv("TPROF_PRESET", "full", 1);
  setenv("TPROF_WITH_FLOPS", "0", 1);
  ASSERT_TRUE(parse_options(o, error)) << error.text;
  EXPECT_TRUE(o.profile_memory && o.with_modules && o.record_shapes);
  EXPECT_FALSE(o.with_flops);
  EXPECT_EQ(o.with_stack.bits, u32(kStackOperators));
  EXPECT_EQ(o.sample.hz, kDefaultHz);
  setenv("TPROF_PRESET", "light", 1);
  ASSERT_TRUE(parse_options(o, error)) << error.text;
  EXPECT_FALSE(o.record_shapes);
}

TEST_F(Environment, an_empty_variable_is_not_set) {
  setenv("TPROF_SCHEDULE", "", 1);
  setenv("TPROF_SIGNAL", "", 1);
  EXPECT_EQ(refusal(), "");
}

TEST_F(Environment, each_refusal_names_its_variable) {
  const struct {
    const char* variable;
    const char* value;
  } bad[] = {{"TPROF_SCHEDULE", "active=0"}, {"TPROF_STEPS", "3:1"},         {"TPROF_PRESET", "heavy"},
             {"TPROF_ACTIVITIES", "gpu"},    {"TPROF_RECORD_SHAPES", "yes"}, {"TPROF_STEP", "range:("},
             {"TPROF_SIGNAL", "KILL"},       {"TPROF_MAX_SIZE", "12"},       {"TPROF_EXIT_WAIT", "-1"},
             {"TPROF_WORKER_NAME", "a/b"},   {"TPROF_EXIT_WAIT", "nan"},     {"TPROF_DISABLE", "true"}};
  for (const auto& b : bad) {
    clear();
    setenv(b.variable, b.value, 1);
    std::string text = refusal();
    EXPECT_TRUE(has(text, b.variable)) << b.variable << ": " << text;
    EXPECT_TRUE(has(text, b.value)) << b.variable << ": " << text;
    EXPECT_FALSE(has(text, "\n")) << text;
  }
}

TEST_F(Environment, steps_and_schedule_exclude_each_other) {
  setenv("TPROF_SCHEDULE", "active=1", 1);
  setenv("TPROF_STEPS", "1:2", 1);
  EXPECT_TRUE(has(refusal(), "give one"));
}

TEST_F(Environment, steps_become_the_schedule) {
  setenv("TPROF_STEPS", "4:6", 1);
  Options o;
  OptionError error;
  ASSERT_TRUE(parse_options(o, error)) << error.text;
  EXPECT_TRUE(o.schedule.given);
  EXPECT_EQ(o.schedule.active, 2);
}

TEST_F(Environment, RanksAreNumbersAndRanges) {
  OptionError error;
  RankSet set;
  EXPECT_TRUE(set.has(0) && set.has(1023));
  ASSERT_TRUE(parse_ranks("0,8-15,100", set, error)) << error.text;
  for (i32 rank : {0, 8, 15, 100}) EXPECT_TRUE(set.has(rank)) << rank;
  for (i32 rank : {1, 7, 16, 99, 101}) EXPECT_FALSE(set.has(rank)) << rank;
  for (const char* bad : {"x", "1,", ",1", "3-1", "-1", "1-", "1--2", "99999999999", "0 1"}) {
    RankSet same = set;
    EXPECT_FALSE(parse_ranks(bad, same, error)) << bad;
    EXPECT_NE(std::string(error.text).find("is not a rank"), std::string::npos) << error.text;
    EXPECT_EQ(same.count, 3u);
  }
  setenv("TPROF_RANKS", "a", 1);
  EXPECT_EQ(refusal().find("TPROF_RANKS: 'a' is not a rank"), 0u);
}

}  // namespace
}  // namespace tprof
