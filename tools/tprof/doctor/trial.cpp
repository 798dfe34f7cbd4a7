#include "doctor/trial.h"

#include <stdlib.h>

#include <filesystem>
#include <sstream>

#include "base/options.h"
#include "base/signal_text.h"
#include "cli/options_cli.h"
#include "input/trace_file.h"
#include "run/child.h"
#include "run/program_file.h"

namespace tprof::doctor {
namespace {

constexpr int kTrialTime_s = 120;  // importing torch from a network file system may take a minute
constexpr char kMark[] = "tprof-doctor ";

constexpr char kModel[] =
#include "trial.py.inc"
    ;

// A temporary directory, which goes with this object.
class Directory {
 public:
  Directory() {
    std::error_code why;
    path_ = (std::filesystem::temp_directory_path(why) / "tprof-doctor-XXXXXX").string();
    if (!why && mkdtemp(path_.data())) return;
    why_not_ = "a temporary directory cannot be created: " + (why ? why.message() : path_) +
               "; is TMPDIR a directory that can be written?";
  }
  ~Directory() {
    std::error_code ignored;
    if (why_not_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  const std::string& why_not() const { return why_not_; }

 private:
  std::string path_, why_not_;
};

// All options of tprof are unset, so that those of the user's shell do not change what is tried.
ChildResult run_model(const std::vector<std::string>& before, const std::string& python) {
  std::vector<std::pair<std::string, std::string>> environment;
  for (int i = 0; i < kOptionRowCount; i++) environment.push_back({kOptionRows[i].env, ""});
  std::vector<std::string> words = before;
  for (const std::string& word : {python, std::string("-c"), std::string(kModel)}) words.push_back(word);
  return run_child(words, environment, kTrialTime_s);
}

ChildResult run_profiled(const std::vector<std::string>& options, const std::string& python, const Directory& logdir) {
  std::vector<std::string> words = {own_path(), "run", "-q", "-o", logdir.path()};
  words.insert(words.end(), options.begin(), options.end());
  words.push_back("--");
  return run_model(words, python);
}

struct Course {
  std::map<std::string, std::string> said;
  std::string doing = "its start";  // the last thing that it began
  std::string printed;              // the last line that is not ours
};

Course course_of(const std::string& text) {
  Course out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kMark)) {
      if (line.find_first_not_of(" ^~") != line.npos) out.printed = line;
      continue;
    }
    std::istringstream words(line.substr(sizeof kMark - 1));
    std::string word, name, rest;
    words >> word;
    if (word == "said") words >> name;
    std::getline(words >> std::ws, rest);
    if (word == "said")
      out.said[name] = rest;
    else
      out.doing = rest;
  }
  return out;
}

// "was killed by SIGSEGV (segmentation fault) in import torch".
std::string failure(const ChildResult& child, const Course& course) {
  if (child.signal) return "was killed by " + signal_text(child.signal) + " in " + course.doing;
  if (child.status < 0) return "did not end within " + std::to_string(kTrialTime_s) + " s: it hung in " + course.doing;
  return "failed in " + course.doing + " with status " + std::to_string(child.status) + ": " + course.printed;
}

// Why it failed when it was profiled, and what helps, by trying it in other ways.
void diagnose(const std::string& python, const std::string& failed, std::vector<Finding>& out) {
  if (ChildResult bare = run_model({}, python); bare.status != 0)
    return out.push_back({Verdict::bad, "a tiny model " + failure(bare, course_of(bare.out)) +
                                            ", also without tprof: this torch does not work here"});
  Directory logdir;
  bool helps = logdir.why_not().empty() && run_profiled({"--activities", "cpu"}, python, logdir).status == 0;
  out.push_back(
      {Verdict::bad, "a tiny model " + failed + "; without tprof it runs. " +
                         (helps ? "What to do: tprof-run --activities cpu records all but the GPU's work, and "
                                  "with it the model runs"
                                : "--activities cpu does not help: this torch cannot be profiled here, please "
                                  "report it")});
}

void examine(const TraceSummary& trace, bool on_gpu, std::vector<Finding>& out) {
  out.push_back({Verdict::ok, "a tiny model was trained on the " + std::string(on_gpu ? "GPU" : "CPU") +
                                  ", its trace has " + std::to_string(trace.written) + " events, " +
                                  std::to_string(trace.dropped) + " dropped"});
  if (!trace.ledger.contains("capabilities")) return;
  for (const auto& [name, capability] : trace.ledger["capabilities"].items()) {
    std::string why = capability.value("why", "");
    out.push_back({capability.value("on", false) ? Verdict::ok : Verdict::off, name + (why.empty() ? "" : ": " + why)});
  }
}

}  // namespace

Trial try_model(const std::string& python) {
  Trial out;
  Directory logdir;
  if (!logdir.why_not().empty()) {
    out.findings.push_back({Verdict::bad, logdir.why_not()});
    return out;
  }
  ChildResult child = run_profiled({}, python, logdir);
  Course course = course_of(child.out);
  out.said = course.said;
  std::vector<std::string> traces = list_files(logdir.path(), is_trace_name);
  if (child.status != 0) {
    diagnose(python, failure(child, course), out.findings);
  } else if (traces.empty()) {
    out.findings.push_back({Verdict::bad, "a tiny model left no trace" +
                                              (course.printed.empty() ? std::string() : ": " + course.printed)});
  } else {
    examine(read_summary(traces[0]), out.said["available"] == "True", out.findings);
  }
  return out;
}

}  // namespace tprof::doctor
