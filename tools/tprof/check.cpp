// `tprof check`: one line per finding and one per trace; the rules are in check.cpp.
#include <stdio.h>

#include <filesystem>

#include "base/error.h"
#include "base/printable.h"
#include "check/check.h"
#include "cli/progress.h"
#include "command.h"
#include "exit_codes.h"
#include "input/inputs.h"
#include "input/trace_file.h"

namespace tprof {
namespace {

int check(const std::vector<std::string>& paths, bool quiet) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!is_directory(path)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> traces = traces_in(path);
    if (traces.empty()) throw Error(Fault::unreadable, path + ": holds no trace (*.json[.gz])");
    files.insert(files.end(), traces.begin(), traces.end());
  }
  bool invalid = false, unreadable = false;
  Progress progress("reading", Progress::Counts::read, size_of(files));
  for (const std::string& file : files) try {
      progress.say("reading " + std::filesystem::path(file).filename().string());
      std::vector<Finding> findings = check_trace(file);
      bool valid = is_valid(findings);
      invalid |= !valid;
      for (const Finding& finding : findings) print(stdout, file + ": " + finding.line() + "\n");
      if (!quiet) print(stdout, file + (valid ? ": valid\n" : ": NOT valid\n"));
    } catch (const Error& e) {
      complain(e.what());
      unreadable = true;
    }
  return unreadable ? kExitUnreadable : invalid ? kExitInvalid : kExitOk;
}

}  // namespace

Action declare_check(Arguments& arguments) {
  auto paths = std::make_shared<std::vector<std::string>>();
  auto quiet = std::make_shared<bool>(false);
  arguments.toggle("--quiet", "-q", "print findings only", *quiet);
  arguments.operands("PATH", "traces or log directories", 1, 0, *paths);
  return [paths, quiet] { return check(*paths, *quiet); };
}

}  // namespace tprof
