// Turns the command line of `tprof run` into the TPROF_* variables that libtprof.so reads: options of options.def, the
// options for single words of a schedule, the name of the log directory, LD_PRELOAD. The functions have no side effects
// except where stated.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "base/options.h"
#include "cli/args.h"

namespace tprof {

struct RunArguments {
  std::vector<std::pair<int, std::string>> options;  // index into kOptionRows, value
  // --skip-first, --wait, --warmup, --active, --repeat, --skip-first-wait as typed; names as in --schedule
  std::vector<std::pair<std::string, std::string>> schedule_words;
  bool quiet = false;
  bool report = false;
  bool print_env = false;
  std::vector<std::string> program;
};

void declare_run_options(Arguments& arguments, RunArguments& out);

// "wait=5,active=3" from the single options; "" if there are none.
std::string compose_schedule(const RunArguments& arguments);

// Sets TPROF_* in this process's environment, where the command line takes precedence, and parses all of it. Throws
// Error(Fault::usage) that names the flag or variable.
Options apply_options(const RunArguments& arguments);

// "library:existing", without other builds of libtprof.so in `existing`.
std::string compose_preload(const std::string& library, const char* existing);

// "train" for `python -u /x/train.py --lr 1`, "pkg.mod" for `python -m pkg.mod`, else the program's name;
// only characters that are harmless in a file name.
std::string program_label(const std::vector<std::string>& program);

// <label>-<YYYYmmdd-HHMMSS>, local time.
std::string run_name(const std::string& label, time_t when);

std::string absolute_path(const std::string& path);
// The path itself, or the nearest directory above it that exists.
std::string nearest_existing(const std::string& path);

}  // namespace tprof
