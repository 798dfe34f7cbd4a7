// The command line side of tprof: words to environment, LD_PRELOAD, quoting, names, looking at programs,
// ledgers.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/child.h"
#include "base/error.h"
#include "base/printable.h"
#include "cli/args.h"
#include "cli/options_cli.h"
#include "cli/progress.h"
#include "input/trace_file.h"
#include "run/child.h"
#include "run/nested.h"
#include "run/program_file.h"

namespace tprof {
namespace {

using Words = std::vector<std::string>;

// --- args

struct Parsed {
  RunArguments run;
  std::string error;
};

Parsed parse(const Words& words) {
  Parsed out;
  Arguments arguments;
  declare_run_options(arguments, out.run);
  try {
    arguments.parse(words);
  } catch (const Error& e) {
    EXPECT_EQ(e.fault, Fault::usage);
    out.error = e.what();
  }
  return out;
}

std::string value_of(const RunArguments& run, const std::string& flag) {
  std::string value = "(none)";
  for (const auto& [row, text] : run.options)
    if (flag == kOptionRows[row].flag) value = text;
  return value;
}

TEST(Args, the_program_is_handed_on_untouched) {
  Words program = {"python", "x.py", "--steps", "1:2", "--", "-q", "", "[a]"};
  Words words = {"-q", "--steps", "3:4", "--"};
  words.insert(words.end(), program.begin(), program.end());
  Parsed p = parse(words);
  EXPECT_EQ(p.error, "");
  EXPECT_EQ(p.run.program, program);
  EXPECT_TRUE(p.run.quiet);
  EXPECT_EQ(value_of(p.run, "--steps"), "3:4");
}

TEST(Args, the_double_dash_may_be_left_out) {
  for (Words program : {Words{"python", "-q"},
                        {"python", "", "[a,b]", "--steps="},
                        {"python", "--", "--", "-q"},
                        {"", "-q"},
                        {"[a,b]"},
                        {"-"}}) {
    Words words = {"--steps=3:4"};
    words.insert(words.end(), program.begin(), program.end());
    Parsed p = parse(words);
    EXPECT_EQ(p.error, "");
    EXPECT_EQ(p.run.program, program);
    EXPECT_FALSE(p.run.quiet);
  }
}

TEST(Args, values_in_every_spelling) {
  EXPECT_EQ(value_of(parse({"-o", "d", "x"}).run, "--logdir"), "d");
  EXPECT_EQ(value_of(parse({"-od", "x"}).run, "--logdir"), "d");
  EXPECT_EQ(value_of(parse({"-qod", "x"}).run, "--logdir"), "d");
  EXPECT_EQ(value_of(parse({"--logdir=d=e", "x"}).run, "--logdir"), "d=e");
  EXPECT_EQ(value_of(parse({"--logdir", "[a,b]", "x"}).run, "--logdir"), "[a,b]");
  EXPECT_EQ(value_of(parse({"-o", "d", "-o", "e", "x"}).run, "--logdir"), "e");
  EXPECT_EQ(value_of(parse({"--on-trace-ready", "[ -f {} ]", "x"}).run, "--on-trace-ready"), "[ -f {} ]");
}

TEST(Args, a_flag_that_may_stand_alone_takes_no_word_that_is_no_value) {
  for (Words words : {Words{"--with-stack", "python", "x.py"},
                      {"--with-stack", "--", "python", "x.py"},
                      {"-o", "d", "--with-stack", "python", "x.py"}}) {
    Parsed p = parse(words);
    EXPECT_EQ(value_of(p.run, "--with-stack"), "1");
    EXPECT_EQ(p.run.program, (Words{"python", "x.py"}));
  }
  EXPECT_EQ(value_of(parse({"--with-stack", "-q", "x"}).run, "--with-stack"), "1");
  EXPECT_EQ(value_of(parse({"--with-stack", "1,native", "x"}).run, "--with-stack"), "1,native");
  EXPECT_EQ(value_of(parse({"--with-stack=calls", "x"}).run, "--with-stack"), "calls");
  EXPECT_EQ(value_of(parse({"--sample", "--", "python"}).run, "--sample"), "python");
  EXPECT_EQ(value_of(parse({"--sample", "native:50", "x"}).run, "--sample"), "native:50");
  EXPECT_EQ(value_of(parse({"--sample", "natives", "x"}).run, "--sample"), "natives") << "to be refused, not run";
  EXPECT_EQ(parse({"python", "--with-stack", "x"}).run.program, (Words{"python", "--with-stack", "x"}));
}

TEST(Args, switches_stand_alone_take_01_and_are_negated) {
  EXPECT_EQ(value_of(parse({"--with-flops", "x"}).run, "--with-flops"), "1");
  EXPECT_EQ(value_of(parse({"--with-flops=0", "x"}).run, "--with-flops"), "0");
  EXPECT_EQ(value_of(parse({"--no-record-shapes", "x"}).run, "--record-shapes"), "0");
  EXPECT_EQ(value_of(parse({"--with-flops", "--no-with-flops", "x"}).run, "--with-flops"), "0");
  EXPECT_EQ(parse({"--with-flops", "python"}).run.program, Words{"python"});
  EXPECT_EQ(parse({"--with-flops", "0", "x"}).run.program, (Words{"0", "x"}));
}

TEST(Args, mistakes_are_named) {
  EXPECT_EQ(parse({"--shedule", "x"}).error, "unknown option --shedule; did you mean --schedule?");
  EXPECT_EQ(parse({"--zzzzzzzzzz"}).error, "unknown option --zzzzzzzzzz; see --help");
  EXPECT_NE(parse({"--schedule"}).error.find("needs a value"), std::string::npos);
  EXPECT_NE(parse({"--schedule", "--", "x"}).error.find("needs a value"), std::string::npos);
  EXPECT_EQ(parse({"python", "--zzz"}).error, "");
  EXPECT_NE(parse({"-5"}).error.find("unknown option -5"), std::string::npos);
  for (Words words : {Words{"--schedule=", "x"},
                      {"--steps", "3:4", "--schedule=", "ls", "--color", "x"},
                      {"--with-flops=", "x"},
                      {"-o", "", "x"}})
    EXPECT_NE(parse(words).error.find("is given an empty value"), std::string::npos) << words[0];
  EXPECT_NE(parse({"--quiet=1", "x"}).error.find("takes no value"), std::string::npos);
  EXPECT_NE(parse({"--no-with-flops=99999999999999999999", "x"}).error, "");
}

TEST(Args, operands_are_counted) {
  Arguments arguments;
  Words out;
  arguments.operands("PATH", "", 1, 1, out);
  EXPECT_THROW(arguments.parse({}), Error);
  EXPECT_THROW(arguments.parse({"a", "b"}), Error);
  EXPECT_THROW(arguments.parse({"a", "-b"}), Error);
  arguments.parse({"--", "-a"});
  EXPECT_EQ(out, Words{"-a"});
  arguments.parse({"[a,b]"});
  EXPECT_EQ(out, Words{"[a,b]"});
}

TEST(Args, every_option_of_the_table_is_a_flag) {
  Arguments arguments;
  RunArguments run;
  declare_run_options(arguments, run);
  for (int i = 0; i < kOptionRowCount; i++) {
    bool found = false;
    for (const Flag& flag : arguments.flags()) found |= flag.name == kOptionRows[i].flag;
    EXPECT_TRUE(found) << kOptionRows[i].flag;
  }
}

TEST(Nearest, typos_only) {
  EXPECT_EQ(nearest("--warmpu", {"--wait", "--warmup"}), "--warmup");
  EXPECT_EQ(nearest("inof", {"info", "run"}), "info");
  EXPECT_EQ(nearest("--something-else", {"--wait"}), "");
}

TEST(Nearest, an_option_with_a_part_in_common_that_no_other_has) {
  Words flags = {"--profile-memory", "--with-stack", "--with-modules", "--record-shapes"};
  EXPECT_EQ(nearest_flag("--with-memory", flags), "--profile-memory");
  EXPECT_EQ(nearest_flag("--with-shapes", flags), "--record-shapes");
  EXPECT_EQ(nearest_flag("--with-stak", flags), "--with-stack");
  EXPECT_EQ(nearest_flag("--with-nothing-alike", flags), "");
}

// --- spans

TEST(Nested, spans_of_one_process_of_which_one_holds_the_other) {
  std::vector<SpanTime> spans = {{"r", "w", "1", 10, 20},
                                 {"r", "w", "2", 10, 30},
                                 {"r", "v", "1", 12, 14},
                                 {"r", "w", "3", 30, 40}};
  EXPECT_EQ(nested_spans(spans), Words{"r / w: span 1 lies inside span 2; do not add up their figures"});
  spans[1].end_ns = 20;  // the same time
  EXPECT_EQ(nested_spans(spans), Words{});
}

// --- progress

TEST(Progress, its_line_leaves_out_what_is_not_known) {
  EXPECT_EQ(progress_text("reading x", 120'000'000, 350'000'000, 12.4), "tprof: reading x, 120 of 350 MB, 12 s");
  EXPECT_EQ(progress_text("writing", 5'000'000, 0, 3), "tprof: writing, 5 MB, 3 s");
  EXPECT_EQ(progress_text("reading", 0, 0, 3), "tprof: reading, 3 s");
}

TEST(Progress, leaves_room_for_its_figures_on_a_narrow_terminal) {
  std::string name = "reading n\u00f6de-07_1234567.1735732800123456789.pt.trace.json";
  EXPECT_EQ(progress_text(name, 20'000'000, 35'000'000, 3, 50),
            "tprof: reading n\u00f6de-07_12345..., 20 of 35 MB, 3 s");
  EXPECT_EQ(progress_text("reading x", 0, 0, 3, 22), "tprof: reading x, 3 s");
  EXPECT_EQ(progress_text("reading x", 0, 0, 3, 21), "tprof: readi..., 3 s");
  EXPECT_EQ(progress_text("reading x", 0, 0, 3, 2), "..., 3 s");
  EXPECT_EQ(progress_text("reading x", 0, 0, 3, 31, " (Ctrl-C: no page)"), "tpro..., 3 s (Ctrl-C: no page)");
}

// What stderr gets; on a terminal if `terminal`.
std::string progress_on(bool terminal) {
  int theirs, ours = posix_openpt(O_RDWR | O_NOCTTY);
  EXPECT_EQ(grantpt(ours) + unlockpt(ours), 0);
  int saved = dup(2), ends[2];
  EXPECT_EQ(pipe(ends), 0);
  theirs = terminal ? open(ptsname(ours), O_RDWR | O_NOCTTY) : ends[1];
  dup2(theirs, 2);
  std::string got;
  {
    Progress progress("reading \033[2Jx", Progress::Counts::read, 0, 0);
    progress.say("reading y");
    char text[256];
    for (ssize_t n; terminal && got.find("y, ") == got.npos && (n = read(ours, text, sizeof text)) > 0;)
      got.append(text, size_t(n));
    print(stderr, "a line\n");
  }
  fflush(stderr);
  dup2(saved, 2);
  char text[256];
  fcntl(ours, F_SETFL, O_NONBLOCK);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  for (ssize_t n; (n = read(terminal ? ours : ends[0], text, sizeof text)) > 0;) got.append(text, size_t(n));
  for (int fd : {ours, saved, ends[0], ends[1]}) close(fd);
  if (terminal) close(theirs);
  return got;
}

TEST(Progress, is_a_passing_line_on_a_terminal_alone) {
  EXPECT_EQ(progress_on(false), "a line\n");
  std::string got = progress_on(true);
  size_t line = got.find("a line"), clear = got.rfind("\r\033[K", line);
  EXPECT_NE(got.find("tprof: reading y, "), got.npos) << got;
  EXPECT_EQ(clear + 4, line) << got;  // taken away before anything else is said
  EXPECT_EQ(got.find("\033[2J"), got.npos);
}

// --- options to environment

struct FlagsAndEnvironment : testing::Test {
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  void clear() {
    for (int i = 0; i < kOptionRowCount; i++) unsetenv(kOptionRows[i].env);
  }
  std::string refusal(const Words& words) {
    try {
      apply_options(parse(words).run);
      return "";
    } catch (const Error& e) {
      return e.what();
    }
  }
};

TEST_F(FlagsAndEnvironment, schedule_words_compose) {
  Options o = apply_options(parse({"--skip-first", "10", "--wait", "5", "--warmup=1", "--active", "3", "--repeat", "2",
                                   "--skip-first-wait", "1"})
                                .run);
  EXPECT_STREQ(getenv("TPROF_SCHEDULE"), "skip_first=10,wait=5,warmup=1,active=3,repeat=2,skip_first_wait=1");
  EXPECT_EQ(o.schedule.wait, 5);
  EXPECT_TRUE(o.schedule.skip_first_wait);
}

TEST_F(FlagsAndEnvironment, typed_wins_over_the_environment) {
  setenv("TPROF_SCHEDULE", "active=9", 1);
  setenv("TPROF_WITH_FLOPS", "1", 1);
  Options o = apply_options(parse({"--steps", "5:7", "--with-flops=0"}).run);
  EXPECT_EQ(o.schedule.active, 2);
  EXPECT_EQ(getenv("TPROF_SCHEDULE"), nullptr);
  EXPECT_FALSE(o.with_flops);
}

TEST_F(FlagsAndEnvironment, refusals_name_the_flag_typed) {
  EXPECT_EQ(refusal({"--steps", "5:3"}).find("--steps: '5:3'"), 0u);
  EXPECT_EQ(refusal({"--schedule", "active=0"}).find("--schedule: 'active=0'"), 0u);
  EXPECT_NE(refusal({"--active", "0"}).find("active=0"), std::string::npos);
  EXPECT_NE(refusal({"--wait", "-1", "--active", "1"}).find("wait=-1"), std::string::npos);
  clear();
  setenv("TPROF_MAX_SIZE", "1", 1);
  EXPECT_EQ(refusal({}).find("TPROF_MAX_SIZE: '1'"), 0u);
}

TEST_F(FlagsAndEnvironment, two_schedules_are_refused) {
  EXPECT_NE(refusal({"--schedule", "active=1", "--active", "2"}), "");
  clear();
  EXPECT_NE(refusal({"--schedule", "active=1", "--steps", "1:2"}), "");
}

TEST(Preload, ours_first_the_rest_kept) {
  EXPECT_EQ(compose_preload("/a/libtprof.so", nullptr), "/a/libtprof.so");
  EXPECT_EQ(compose_preload("/a/libtprof.so", ""), "/a/libtprof.so");
  EXPECT_EQ(compose_preload("/a/libtprof.so", "/x.so:/y.so"), "/a/libtprof.so:/x.so:/y.so");
  EXPECT_EQ(compose_preload("/a/libtprof.so", "/x.so /y.so"), "/a/libtprof.so:/x.so:/y.so");
}

TEST(Preload, never_twice) {
  std::string once = compose_preload("/a/libtprof.so", "/x.so");
  EXPECT_EQ(compose_preload("/a/libtprof.so", once.c_str()), once);
  EXPECT_EQ(compose_preload("/a/libtprof.so", "/other/libtprof.so:/x.so"), once);
}

TEST(Quote, survives_a_shell) {
  for (const char* text : {"", "plain", "two words", "it's", "a\"b$c`d\\e", "new\nline", "'''"}) {
    ChildResult child = run_child({"/bin/sh", "-c", "printf %s " + shell_quote(text)}, {}, 10);
    EXPECT_EQ(child.status, 0);
    EXPECT_EQ(child.out, text);
  }
}

TEST(Child, ends_in_time_or_is_ended) {
  EXPECT_EQ(run_child({"/nonexistent/program"}, {}, 10).status, 127);
  EXPECT_EQ(run_child({"sh", "-c", "exit 3"}, {}, 10).status, 3);
  EXPECT_EQ(run_child({"sh", "-c", "kill -TERM $$"}, {}, 10).status, 128 + 15);
  EXPECT_EQ(run_child({"sh", "-c", "sleep 100 & wait"}, {}, 1).status, -1);
  setenv("TPROF_TEST_GONE", "1", 1);
  ChildResult child = run_child({"sh", "-c", "echo \"$A-${TPROF_TEST_GONE-gone}\" >&2; cat"},
                                {{"A", "b c"}, {"TPROF_TEST_GONE", ""}}, 10);
  unsetenv("TPROF_TEST_GONE");
  EXPECT_EQ(child.out, "b c-gone\n");
}

TEST(Label, script_module_or_program) {
  EXPECT_EQ(program_label({"python", "train.py"}), "train");
  EXPECT_EQ(program_label({"python3", "-u", "/x/y/fine tune.py", "--lr", "1"}), "fine_tune");
  EXPECT_EQ(program_label({"python", "-m", "pkg.train", "--x"}), "pkg.train");
  EXPECT_EQ(program_label({"torchrun", "--nproc", "2", "t.py", "u.py"}), "t");
  EXPECT_EQ(program_label({"python", "-m", "torch.distributed.run", "t.py"}), "t");
  EXPECT_EQ(program_label({"/usr/bin/app"}), "app");
  EXPECT_EQ(program_label({"./run.py"}), "run");
  EXPECT_EQ(program_label({".."}), "job..");
  EXPECT_EQ(program_label({}), "job");
  EXPECT_LE(program_label({std::string(500, 'x')}).size(), 80u);
}

TEST(RunName, label_and_local_time) {
  setenv("TZ", "UTC", 1);
  tzset();
  EXPECT_EQ(run_name("train", 0), "train-19700101-000000");
}

TEST(AbsolutePath, made_plain) {
  std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(absolute_path("a/../b/"), here + "/b");
  EXPECT_EQ(absolute_path("/x//y/."), "/x/y");
  EXPECT_EQ(absolute_path("/"), "/");
}

// --- programs

struct Files : testing::Test {
  void SetUp() override {
    directory = (std::filesystem::temp_directory_path() / "tprof-cli-XXXXXX").string();
    ASSERT_TRUE(mkdtemp(directory.data()));
  }
  void TearDown() override { std::filesystem::remove_all(directory); }
  std::string write(const std::string& name, const std::string& text, int mode) {
    std::string path = directory + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    chmod(path.c_str(), static_cast<mode_t>(mode));
    return path;
  }
  std::string directory;
};

TEST_F(Files, found_as_a_shell_finds_it) {
  EXPECT_EQ(find_program("sh").status, 0);
  EXPECT_EQ(find_program("no-such-program").status, 127);
  EXPECT_EQ(find_program(directory + "/nothing").status, 127);
  EXPECT_EQ(find_program(directory).status, 126);
  EXPECT_EQ(find_program(write("data", "x", 0644)).status, 126);
  EXPECT_EQ(find_program("").status, 127);
}

TEST_F(Files, what_cannot_be_preloaded) {
  EXPECT_EQ(why_not_preloadable("/bin/sh"), "");
  EXPECT_EQ(why_not_preloadable(write("script", "#!/bin/sh\n", 0755)), "");
  EXPECT_EQ(why_not_preloadable(write("text", "echo\n", 0755)), "");
  EXPECT_EQ(why_not_preloadable(write("empty", "", 0755)), "");
  std::ifstream in("/bin/sh", std::ios::binary);
  std::string shell(std::istreambuf_iterator<char>(in), {});
  std::string other = shell;
  other[4] = 1;  // ELFCLASS32
  EXPECT_EQ(why_not_preloadable(write("elf32", other, 0755)), "is a 32-bit program");
  std::string cut = shell.substr(0, 64);  // no program headers, so no loader asked for
  EXPECT_EQ(why_not_preloadable(write("static", cut, 0755)), "is statically linked");
  std::string script = "#! " + directory + "/static -x\n";
  EXPECT_EQ(why_not_preloadable(write("by_static", script, 0755)), "is statically linked");
  std::string musl = shell, loader = "/lib64/ld-linux-";
  size_t at = musl.find(loader);
  if (at != std::string::npos) musl.replace(at, loader.size(), "/lib64/ld-musl-x");
  EXPECT_EQ(why_not_preloadable(write("musl", musl, 0755)),
            at == std::string::npos ? "" : "is linked with musl and not with glibc");
}

// --- traces

TEST_F(Files, ledger_behind_the_events) {
  std::string path = write("a.pt.trace.json",
                           R"({"schemaVersion": 1, "traceEvents": [{"name": "\"tprof\":"}],)"
                           R"( "tprof": {"schema": 1, "written": 12, "dropped": {"disk_full": 3, "too_deep": 1}}})",
                           0644);
  TraceSummary trace = read_summary(path);
  EXPECT_EQ(trace.ledger["schema"], 1);
  EXPECT_EQ(trace.written, 12u);
  EXPECT_EQ(trace.dropped, 4u);
  EXPECT_EQ(trace.head["schemaVersion"], 1);
}

TEST_F(Files, traces_of_others_and_cut_ones_have_no_ledger) {
  EXPECT_TRUE(read_summary(write("b.pt.trace.json", "{\"traceEvents\": []}", 0644)).ledger.is_null());
  EXPECT_TRUE(read_summary(write("c.pt.trace.json", "{\"traceEvents\": [], \"tprof\": {", 0644)).ledger.is_null());
  EXPECT_TRUE(read_summary(write("d.pt.trace.json", "", 0644)).head.is_null());
  EXPECT_THROW(read_summary(directory + "/none"), Error);
}

TEST_F(Files, names) {
  write("b.pt.trace.json.gz", "", 0644);
  write("a.pt.trace.json", "", 0644);
  write("c.tprof", "", 0644);
  write("d.pt.trace.json.gz.tmp", "", 0644);
  EXPECT_EQ(list_files(directory, is_trace_name).size(), 2u);
  EXPECT_EQ(list_files(directory, is_recording_name), Words{directory + "/c.tprof"});
  EXPECT_TRUE(list_files(directory + "/none", is_trace_name).empty());
}

}  // namespace
}  // namespace tprof
