// `tprof run`: checks everything first, then starts the program with libtprof.so preloaded and waits until it has
// ended.
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "base/child.h"
#include "base/error.h"
#include "cli/options_cli.h"
#include "command.h"
#include "exit_codes.h"
#include "finish/death.h"
#include "hang/report.h"
#include "input/trace_file.h"
#include "run/last_word.h"
#include "run/program_file.h"
#include "run/supervise.h"
#include "run/watch.h"

extern char** environ;

namespace tprof {
namespace {

namespace fs = std::filesystem;

// Not if it cannot be told, as behind a directory that may not be searched.
bool is_missing(const fs::path& path) {
  std::error_code ignored;
  return fs::status(path, ignored).type() == fs::file_type::not_found;
}

void refuse_unwritable(const std::string& directory, const std::string& why) {
  throw Error(Fault::usage, "log directory " + directory + ": " + why + "; give a writable one with --logdir");
}

void check_writable(const std::string& directory) {
  std::string base = nearest_existing(directory);
  std::error_code ignored;
  if (!fs::is_directory(base, ignored)) refuse_unwritable(directory, base + " is not a directory");
  if (access(base.c_str(), W_OK | X_OK) != 0) refuse_unwritable(directory, base + ": " + strerror(errno));
}

// The log directory: the one that was given, or else a new one for this run. Creates nothing.
std::string choose_logdir(const Options& options, const std::vector<std::string>& program) {
  if (options.logdir) return absolute_path(options.logdir.value);
  std::string base = absolute_path("tprof_log/" + run_name(program_label(program), time(nullptr)));
  std::string path = base;
  for (int n = 2; access(path.c_str(), F_OK) == 0; n++) path = base + "-" + std::to_string(n);
  return path;
}

// Makes the log directory and its parents. Those that it made are removed at the end if they are empty.
class RunDirectory {
 public:
  explicit RunDirectory(const std::string& path) : path_(path) {
    std::error_code why;
    for (fs::path at = path; is_missing(at) && at != at.parent_path(); at = at.parent_path())
      made_.push_back(at.string());
    fs::create_directories(path, why);
    if (why) refuse_unwritable(path, why.message());
    check_writable(path);
    // For root, access() also succeeds on a read-only or full file system, so a file is written.
    std::string probe = path + "/.tprof-" + std::to_string(getpid());
    FILE* f = fopen(probe.c_str(), "wxe");
    if (!f) refuse_unwritable(path, strerror(errno));
    fclose(f);
    unlink(probe.c_str());
  }
  void remove_if_empty() const {
    for (const std::string& made : made_)
      if (rmdir(made.c_str()) != 0) break;
  }

 private:
  std::string path_;
  std::vector<std::string> made_;  // innermost first
};

// NVTX loads the library that this variable names. It is set before the program starts because libraries of the program
// may call NVTX before the preloaded library is ready. A value that is already set belongs to another tool and is kept.
constexpr char kNvtxInjection[] = "NVTX_INJECTION64_PATH";

// `removed`: variables that this process was given and that do not go with what was typed.
int print_env(const RunArguments& arguments, const std::string& library, const std::string& preload,
              const std::string& logdir, const std::set<std::string>& removed) {
  check_writable(logdir);
  setenv("LD_PRELOAD", preload.c_str(), 1);
  setenv("TPROF_LOGDIR", logdir.c_str(), 1);
  if (!library.empty()) setenv(kNvtxInjection, library.c_str(), 0);
  // Only what was typed or composed here: the launcher inherits everything else.
  std::vector<std::string> names = {"LD_PRELOAD", "TPROF_LOGDIR"};
  if (!library.empty()) names.push_back(kNvtxInjection);
  for (const auto& [row, value] : arguments.options)
    if (std::string name = kOptionRows[row].env; name != "TPROF_LOGDIR") names.push_back(name);
  if (!arguments.schedule_words.empty()) names.push_back("TPROF_SCHEDULE");
  for (const std::string& name : names)
    printf("export %s=%s\n", name.c_str(), shell_quote(getenv(name.c_str())).c_str());
  for (const std::string& name : removed) printf("unset %s\n", name.c_str());
  return kExitOk;
}

// Of these variables, those that the environment has.
std::set<std::string> set_ones(const std::set<std::string>& variables) {
  std::set<std::string> out;
  for (const std::string& name : variables)
    if (getenv(name.c_str())) out.insert(name);
  return out;
}

[[noreturn]] void become(const std::vector<std::string>& program) {
  std::vector<char*> argv;
  for (const std::string& word : program) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  complain(program[0] + ": " + strerror(errno));
  _exit(errno == ENOENT ? 127 : 126);
}

int run(const RunArguments& arguments) {
  const std::vector<std::string>& program = arguments.program;
  if (program.empty() && !arguments.print_env)
    throw Error(Fault::usage, "no program to run: tprof run [OPTION...] -- python train.py");
  std::set<std::string> removed = set_ones({"TPROF_STEPS", "TPROF_SCHEDULE"});
  Options options = apply_options(arguments);
  for (const std::string& name : set_ones(removed)) removed.erase(name);
  std::string library = options.disable ? "" : find_library();
  std::string preload = compose_preload(library.empty() ? "" : preload_name(library), getenv("LD_PRELOAD"));
  if (arguments.print_env) return print_env(arguments, library, preload, choose_logdir(options, program), removed);

  ProgramFile file = find_program(program[0]);
  if (file.status) {
    complain(file.why);
    return file.status;
  }
  if (options.disable) become(program);

  std::string logdir = choose_logdir(options, program);
  RunDirectory directory(logdir);
  std::string unloadable = why_not_preloadable(file.path);
  if (!unloadable.empty())
    complain(file.path + " " + unloadable + ": it is run, but cannot be profiled (programs that it starts can be)");
  setenv("TPROF_LOGDIR", logdir.c_str(), 1);
  setenv("LD_PRELOAD", preload.c_str(), 1);
  setenv(kNvtxInjection, library.c_str(), 0);
  setenv("TPROF_UNDER_RUN", "1", 1);  // the library then prints no closing line

  Run whole{logdir, {}, options, !unloadable.empty(), arguments.quiet, arguments.report};
  for (auto accept : {is_trace_name, is_recording_name, hang::is_report_name})
    for (const std::string& path : list_files(logdir, accept)) whole.before.insert(path);
  RecordingWatch watch(logdir);
  Supervisor supervisor;
  int status = supervisor.run(
      program, options.signal,
      [&](int pid) {
        if (flush_recordings(logdir, options.signal, pid) == 0 && !arguments.quiet)
          complain("flush: no window is open, nothing to write");
      },
      [&](int pid, int signal) { note_death(logdir, pid, signal); });
  unsetenv("LD_PRELOAD");        // tprof's own commands that follow are not profiled
  bool lost = watch.any_gone();  // checked before the remaining recordings are finished and removed
  Patience patience(options.exit_wait, supervisor, logdir, arguments.quiet, arguments.report);
  Completion completion = complete_recordings(logdir, patience);
  completion.status = status;
  completion.lost = lost;
  if (!arguments.quiet || arguments.report) say_last_word(whole, completion, patience);
  directory.remove_if_empty();
  supervisor.end_like(status);
}

}  // namespace

Action declare_run(Arguments& arguments) {
  auto out = std::make_shared<RunArguments>();
  declare_run_options(arguments, *out);
  return [out] { return run(*out); };
}

}  // namespace tprof
