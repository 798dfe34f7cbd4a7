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
#include <functional>

#include "base/child.h"
#include "base/error.h"
#include "base/printable.h"
#include "cli/options_cli.h"
#include "command.h"
#include "exit_codes.h"
#include "input/trace_file.h"
#include "report/fit.h"
#include "run/child.h"
#include "run/program_file.h"
#include "stack/unwinder.h"
#include "symbols/source_lines.h"

namespace tprof {
namespace {

enum class Verdict { ok, off, bad };  // off: absent or limited, which is not an error

struct Finding {
  Verdict verdict;
  std::string text;
};

// Results of checks that later checks use.
struct Patient {
  std::string library;
  std::vector<std::string> pythons;
  std::string torch_python;  // the first with torch
};

constexpr char kPythonProbe[] =
    "import sys\n"
    "print('python', sys.version.split()[0])\n"
    "try:\n"
    "    import torch; print('torch', torch.__version__, 'cuda', torch.version.cuda, "
    "torch.cuda.is_available())\n"
    "except ImportError as e: print('torch none', e)\n";

constexpr char kTinyTraining[] =
    "import torch\n"
    "m = torch.nn.Linear(4, 4); o = torch.optim.SGD(m.parameters(), lr=0.1)\n"
    "for _ in range(4):\n"
    "    o.zero_grad(); m(torch.ones(2, 4)).sum().backward(); o.step()\n";

std::string last_line(const std::string& text) {
  size_t end = text.find_last_not_of("\n ");
  if (end == std::string::npos) return "";
  size_t from = text.rfind('\n', end);
  return text.substr(from == std::string::npos ? 0 : from + 1, end - (from == std::string::npos ? 0 : from + 1) + 1);
}

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
    out.push_back({Verdict::bad, "a child with LD_PRELOAD failed: " + last_line(child.out)});
  } else if (child.out.find("libtprof.so") == std::string::npos) {
    out.push_back({Verdict::bad, "the loader ignored LD_PRELOAD: " + last_line(child.out) +
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
  for (const std::string& python : patient.pythons) {
    ProgramFile file = find_program(python);
    if (file.status) {
      out.push_back({Verdict::off, file.why});
      continue;
    }
    std::string unloadable = why_not_preloadable(file.path);
    ChildResult child = run_child({file.path, "-c", kPythonProbe}, {{"LD_PRELOAD", ""}}, 120);
    std::string text = file.path + ": ";
    for (char c : child.out) text += c == '\n' ? ' ' : c;
    bool torch = child.status == 0 && child.out.find("torch none") == std::string::npos;
    if (torch && patient.torch_python.empty()) patient.torch_python = file.path;
    if (!unloadable.empty())
      out.push_back({Verdict::bad, file.path + " " + unloadable});
    else if (child.status != 0)
      out.push_back({Verdict::bad, file.path + " does not run: " + last_line(child.out)});
    else
      out.push_back({torch ? Verdict::ok : Verdict::off, text});
  }
}

// Profiles four steps of a tiny training, and reports the capabilities that its trace lists.
void check_profiling(Patient& patient, std::vector<Finding>& out) {
  if (patient.torch_python.empty())
    return out.push_back({Verdict::off, "no Python with torch found; name yours: tprof doctor /path/to/python"});
  if (patient.library.empty()) return out.push_back({Verdict::bad, "no library"});
  std::error_code why;
  std::string directory = (std::filesystem::temp_directory_path(why) / "tprof-doctor-XXXXXX").string();
  if (why || !mkdtemp(directory.data()))
    return out.push_back(
        {Verdict::bad, "a temporary directory cannot be created: " + (why ? why.message() : directory) +
                           "; is TMPDIR a directory that can be written?"});
  std::vector<std::pair<std::string, std::string>> environment;
  for (int i = 0; i < kOptionRowCount; i++) environment.push_back({kOptionRows[i].env, ""});
  ChildResult child =
      run_child({own_path(), "run", "-q", "-o", directory, "--", patient.torch_python, "-c", kTinyTraining},
                environment, 300);
  std::vector<std::string> traces = list_files(directory, is_trace_name);
  if (child.status != 0) {
    out.push_back({Verdict::bad,
                   "a tiny training failed with status " + std::to_string(child.status) + ": " + last_line(child.out)});
  } else if (traces.empty()) {
    out.push_back({Verdict::bad, "a tiny training left no trace" +
                                     (child.out.empty() ? std::string() : ": " + last_line(child.out))});
  } else {
    TraceSummary trace = read_summary(traces[0]);
    out.push_back({Verdict::ok, "a tiny training gave a trace of " + std::to_string(trace.written) + " events, " +
                                    std::to_string(trace.dropped) + " dropped"});
    if (trace.ledger.contains("capabilities"))
      for (const auto& [name, capability] : trace.ledger["capabilities"].items()) {
        std::string why = capability.value("why", "");
        out.push_back(
            {capability.value("on", false) ? Verdict::ok : Verdict::off, name + (why.empty() ? "" : ": " + why)});
      }
  }
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
}

std::string read_text(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What keeps CUPTI from recording the GPU, with the cure of each.
void check_cuda(Patient&, std::vector<Finding>& out) {
  if (access("/dev/nvidiactl", F_OK) != 0) return out.push_back({Verdict::off, "no NVIDIA driver here"});
  std::string version = read_text("/proc/driver/nvidia/version");
  out.push_back({Verdict::ok, "NVIDIA driver present: " + version.substr(0, version.find('\n'))});
  bool admin_only = read_text("/proc/driver/nvidia/params").find("RmProfilingAdminOnly: 1") != std::string::npos;
  if (admin_only && geteuid() != 0)
    out.push_back({Verdict::off,
                   "the driver lets only root profile GPUs; if a run reports that it was refused: put 'options nvidia "
                   "NVreg_RestrictProfilingToAdminUsers=0' into a file in /etc/modprobe.d, and reload the driver or "
                   "reboot"});
  if (const char* chosen = getenv("TPROF_CUPTI"); chosen && *chosen && access(chosen, R_OK) != 0)
    out.push_back({Verdict::bad, std::string("TPROF_CUPTI=") + chosen + ": " + strerror(errno) +
                                     "; unset it, or name a libcupti.so of the program's CUDA"});
  if (const char* other = getenv("CUDA_INJECTION64_PATH"); other && *other && !strstr(other, "libtprof"))
    out.push_back({Verdict::off, std::string("CUDA_INJECTION64_PATH is already ") + other +
                                     "; it is kept, and only one tool can use CUPTI: if a run reports that it is in "
                                     "use, end the other tool (nsys, ncu, cuda-gdb, DCGM profiling)"});
  out.push_back({Verdict::ok,
                 "if a run reports that it finds no libcupti: pip install nvidia-cuda-cupti (CUDA 13) or "
                 "nvidia-cuda-cupti-cu12, or name one in TPROF_CUPTI; if libcupti is newer than the driver, name an "
                 "older one there or update the driver"});
}

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
  if (child.status != 0)
    return out.push_back({Verdict::off, "tprof stack does not work here: " + last_line(child.out)});
  std::string scope = read_text("/proc/sys/kernel/yama/ptrace_scope");
  bool restricted = !scope.empty() && scope[0] != '0' && geteuid() != 0;
  out.push_back({restricted ? Verdict::off : Verdict::ok,
                 restricted ? "tprof stack reads other programs only as root (kernel.yama.ptrace_scope is " +
                                  scope.substr(0, 1) + ")"
                            : "tprof stack reads the stack of a running program"});
}

void check_limits(Patient&, std::vector<Finding>& out) {
  out.push_back({Verdict::ok, "profiling needs no ptrace, no perf events, no root and no limits to raise"});
  out.push_back({Verdict::off, "setuid, statically linked and 32-bit programs cannot be profiled"});
}

const struct {
  const char* name;
  void (*run)(Patient&, std::vector<Finding>&);
} kChecks[] = {
    {"library", check_library},    {"preload", check_preload}, {"log directory", check_directory},
    {"disk", check_disk},          {"python", check_pythons},  {"profiling", check_profiling},
    {"cuda", check_cuda},          {"stacks", check_stacks},   {"tprof stack", check_stack_command},
    {"permissions", check_limits},
};

int doctor(const std::vector<std::string>& pythons) {
  Patient patient;
  patient.pythons = pythons;
  if (pythons.empty()) {
    patient.pythons = {"python3"};
    if (find_program("python3").path != "/usr/bin/python3") patient.pythons.push_back("/usr/bin/python3");
  }
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

Action declare_doctor(Arguments& arguments) {
  auto pythons = std::make_shared<std::vector<std::string>>();
  arguments.operands("PYTHON", "interpreters to check; default: python3 and /usr/bin/python3", 0, 0, *pythons);
  return [pythons] { return doctor(*pythons); };
}

}  // namespace tprof
