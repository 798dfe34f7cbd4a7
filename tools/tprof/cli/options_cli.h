// From the words of `tprof run` to the TPROF_* environment that libtprof.so reads: flags from options.def,
// the schedule's single words, the log directory's name, LD_PRELOAD. Pure functions except where said.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "base/options.h"
#include "cli/args.h"

namespace tprof {

struct RunArguments {
  std::vector<std::pair<int, std::string>> options;  // index into kOptionRows, value
  // --skip-first, --wait, --warmup, --active, --repeat, --skip-first-wait as typed, in schedule's spelling
  std::vector<std::pair<std::string, std::string>> schedule_words;
  bool quiet = false;
  bool report = false;
  bool print_env = false;
  std::vector<std::string> program;
};

void declare_run_options(Arguments& arguments, RunArguments& out);

// "wait=5,active=3" from the single words; "" when there are none.
std::string compose_schedule(const RunArguments& arguments);

// Sets TPROF_* in this process's environment; what is typed wins over what was set. Then parses everything.
// Throws Error(Fault::usage) naming the flag or variable.
Options apply_options(const RunArguments& arguments);

// ours:existing, each part once, other builds of libtprof.so left out.
std::string compose_preload(const std::string& library, const char* existing);

// "train" for `python -u /x/train.py --lr 1`, "pkg.mod" for `python -m pkg.mod`, else the program's name;
// only characters that are harmless in a file name.
std::string program_label(const std::vector<std::string>& program);

// <label>-<YYYYmmdd-HHMMSS>, local time.
std::string run_name(const std::string& label, time_t when);

std::string absolute_path(const std::string& path);

}  // namespace tprof
