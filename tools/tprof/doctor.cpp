// `tprof doctor`: one line for each thing that must work, tested for real where possible, with the cure for what does
// not.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/child.h"
#include "base/error.h"
#include "base/printable.h"
#include "command.h"
#include "dataset/store.h"
#include "doctor/cuda.h"
#include "doctor/pythons.h"
#include "doctor/trial.h"
#include "exit_codes.h"
#include "input/trace_file.h"
#include "report/fit.h"
#include "run/child.h"
#include "run/program_file.h"
#include "stack/unwinder.h"
#include "symbols/source_lines.h"

namespace tprof::doctor {
namespace {

// Results of checks that later checks use.
struct Patient {
  std::string library;
  std::vector<std::string> named;  // by the user: interpreters to check
  std::string python;              // one that runs
  std::string torch_python;        // the first with torch
  Trial trial;                     // what happened there
};

void check_library(Patient& patient, std::vector<Finding>& out) {
  try {
    patient.library = find_library();
    out.push_back({Verdict::ok, patient.library});
  } catch (const Error& e) {
    out.push_back({Verdict::bad, e.what()});
  }
}

// Preloading works if a child process has the library in its memory map.
void check_preload(Patient& patient, std::vector<Finding>& out) {
  if (patient.library.empty()) return out.push_back({Verdict::bad, "no library to preload"});
  ChildResult child = run_child({"/bin/sh", "-c", "exec cat /proc/self/maps"},
                                {{"LD_PRELOAD", patient.library}, {"TPROF_DISABLE", "1"}}, 10);
  if (child.status != 0) {
    out.push_back({Verdict::bad, "a child with LD_PRELOAD failed: " + child.last_line()});
  } else if (child.out.find("libtprof.so") == std::string::npos) {
    out.push_back({Verdict::bad, "the loader ignored LD_PRELOAD: " + child.last_line() +
                                     "; a C library other than glibc (musl), or a hardened container"});
  } else {
    out.push_back({Verdict::ok, "a child process loads the library"});
  }
  if (const char* old = getenv("LD_PRELOAD"); old && *old)
    out.push_back({Verdict::ok, std::string("LD_PRELOAD is already ") + old + "; it is kept"});
}

void check_directory(Patient&, std::vector<Finding>& out) {
  const char* set = getenv("TPROF_LOGDIR");
  std::string directory = absolute_path(set && *set ? set : "tprof_log"), base = nearest_existing(directory);
  if (is_directory(base) && access(base.c_str(), W_OK | X_OK) == 0) {
    out.push_back({Verdict::ok, directory + (base == directory ? "" : " will be created")});
  } else {
    out.push_back({Verdict::bad, directory + " is not writable; give one with --logdir"});
  }
}

void check_disk(Patient&, std::vector<Finding>& out) {
  const char* set = getenv("TPROF_LOGDIR");
  std::error_code why;
  auto space = std::filesystem::space(nearest_existing(absolute_path(set && *set ? set : ".")), why);
  if (why) return out.push_back({Verdict::off, "unknown: " + why.message()});
  double gib = double(space.available) / double(1u << 30);
  char text[64];
  snprintf(text, sizeof text, "%.1f GiB free", gib);
  if (gib < 1)
    out.push_back({Verdict::bad,
                   std::string(text) + "; a window of a large model needs more; lower --max-size if there is no more"});
  else
    out.push_back({Verdict::ok, text});
}

void check_pythons(Patient& patient, std::vector<Finding>& out) {
  std::vector<Python> pythons = find_pythons(patient.named);
  for (const Python& p : pythons) {
    bool named = p.found.empty();
    if (!p.why_not.empty()) {
      out.push_back({named ? Verdict::bad : Verdict::off, p.why_not});
      continue;
    }
    if (p.has_torch && patient.torch_python.empty()) patient.torch_python = patient.python = p.path;
    if (patient.python.empty()) patient.python = p.path;
    std::string text = p.path + (named ? "" : " (" + p.found + ")") + ": Python " + p.version +
                       (p.has_torch ? " with torch" : " without torch");
    if (std::string unloadable = why_not_preloadable(p.path); !unloadable.empty())
      out.push_back({Verdict::bad, text + ", which " + unloadable});
    else
      out.push_back({p.has_torch ? Verdict::ok : Verdict::off, text});
  }
  if (pythons.empty()) out.push_back({Verdict::off, "none found; name yours: tprof doctor /path/to/python"});
}

void check_profiling(Patient& patient, std::vector<Finding>& out) {
  if (patient.torch_python.empty())
    return out.push_back({Verdict::off, "no Python with torch found; name yours: tprof doctor /path/to/python"});
  if (patient.library.empty()) return out.push_back({Verdict::bad, "no library"});
  patient.trial = try_model(patient.torch_python);
  std::string version = patient.trial.said["version"], cuda = patient.trial.said["cuda"];
  if (!version.empty())
    out.push_back({Verdict::ok, "torch " + version + (cuda == "None" ? ", without CUDA" : ", for CUDA " + cuda) +
                                    ", of " + patient.torch_python});
  out.insert(out.end(), patient.trial.findings.begin(), patient.trial.findings.end());
}

void check_cuda(Patient& patient, std::vector<Finding>& out) { out = look_at_cuda(patient.python, patient.trial.said); }

void check_stacks(Patient&, std::vector<Finding>& out) {
#ifdef __x86_64__
  out.push_back(
      {Verdict::ok, "native stacks (--with-stack=native) are unwound by tprof itself, using call frame information"});
#else
  out.push_back({Verdict::off, "native stacks (--with-stack=native) are recorded on x86-64 only"});
#endif
  std::string tool = line_tool();
  if (tool.empty())
    out.push_back(
        {Verdict::off, "no source lines for native stacks: neither llvm-symbolizer nor addr2line is installed"});
  else
    out.push_back({Verdict::ok, "source lines of code with debug information come from " + tool});
}

// Reads the stack of a program of its own, which even a strict system allows; then says whose programs may be read.
void check_stack_command(Patient&, std::vector<Finding>& out) {
  if (find_unwinder().empty())
    return out.push_back({Verdict::off,
                          "tprof stack shows Python frames only: tprof was built without tprof-stack; install "
                          "libunwind-dev and build it again"});
  pid_t sleeper = -1;
  if (start_child({"sleep", "60"}, {}, sleeper)) return out.push_back({Verdict::off, "not tried: there is no sleep"});
  ChildResult child = run_child({own_path(), "stack", std::to_string(sleeper)}, {}, 30);
  kill(sleeper, SIGKILL);
  wait_for_child(sleeper);
  if (child.status != 0) return out.push_back({Verdict::off, "tprof stack does not work here: " + child.last_line()});
  int scope = 0;
  std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope;
  bool restricted = scope != 0 && geteuid() != 0;
  out.push_back({restricted ? Verdict::off : Verdict::ok,
                 restricted ? "tprof stack reads other programs only as root (kernel.yama.ptrace_scope is " +
                                  std::to_string(scope) + ")"
                            : "tprof stack reads the stack of a running program"});
}

void check_export(Patient&, std::vector<Finding>& out) {
  if (dataset::has_sqlite())
    return out.push_back({Verdict::ok, "tprof export writes Parquet files and SQLite databases"});
  out.push_back({Verdict::off,
                 "tprof export writes Parquet files, but no SQLite databases: tprof was built without SQLite; install "
                 "libsqlite3-dev and pkg-config and build it again"});
}

void check_limits(Patient&, std::vector<Finding>& out) {
  out.push_back({Verdict::ok, "profiling needs no ptrace, no perf events, no root and no limits to raise"});
  out.push_back({Verdict::off, "setuid, statically linked and 32-bit programs cannot be profiled"});
}

const struct {
  const char* name;
  void (*run)(Patient&, std::vector<Finding>&);
} kChecks[] = {
    {"library", check_library},     {"preload", check_preload},    {"log directory", check_directory},
    {"disk", check_disk},           {"python", check_pythons},     {"profiling", check_profiling},
    {"cuda", check_cuda},           {"stacks", check_stacks},      {"tprof stack", check_stack_command},
    {"tprof export", check_export}, {"permissions", check_limits},
};

int examine(const std::vector<std::string>& pythons) {
  Patient patient;
  patient.named = pythons;
  bool bad = false;
  TextStyle style = text_style(stdout);
  for (const auto& check : kChecks) {
    std::vector<Finding> findings;
    check.run(patient, findings);
    const char* name = check.name;
    for (const Finding& f : findings) {
      const char* mark = f.verdict == Verdict::ok ? "OK" : f.verdict == Verdict::off ? "--" : "BAD";
      char lead[32];
      int indent = snprintf(lead, sizeof lead, "%-14s %-4s ", name, mark);
      print(stdout, wrapped(lead + f.text, size_t(style.width), size_t(indent)) + "\n");
      fflush(stdout);
      bad |= f.verdict == Verdict::bad;
      name = "";
    }
  }
  return bad ? kExitInvalid : kExitOk;
}

}  // namespace
}  // namespace tprof::doctor

namespace tprof {

Action declare_doctor(Arguments& arguments) {
  auto pythons = std::make_shared<std::vector<std::string>>();
  arguments.operands(
      "PYTHON", "interpreters to check; default: that of the active environment, else the first on PATH with torch", 0,
      0, *pythons);
  return [pythons] { return doctor::examine(*pythons); };
}

}  // namespace tprof
