#include "doctor/pythons.h"

#include <stdlib.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "run/child.h"
#include "run/program_file.h"

namespace tprof::doctor {
namespace {

namespace fs = std::filesystem;

constexpr int kProbeTime_s = 30;
constexpr char kProbe[] =
    "import sys, importlib.util\n"
    "print('tprof-doctor', sys.version.split()[0], importlib.util.find_spec('torch') is not None)\n";

struct Place {
  std::string name, found;
};

std::vector<Place> usual_places() {
  std::vector<Place> out;
  for (const char* environment : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const char* root = getenv(environment); root && *root)
      out.push_back({std::string(root) + "/bin/python", std::string("of ") + environment});
  out.push_back({"python", "python on PATH"});
  out.push_back({"python3", "python3 on PATH"});
  out.push_back({"/usr/bin/python3", "the system's"});
  return out;
}

// The names of one interpreter in one folder. In another folder the same file is another environment.
std::string identity(const std::string& path) {
  std::error_code ignored;
  return fs::weakly_canonical(fs::path(path).parent_path(), ignored).string() + " " +
         fs::weakly_canonical(path, ignored).string();
}

Python look_at_python(const std::string& path) {
  Python out{path, "", "", "", false};
  ChildResult child = run_child({path, "-c", kProbe}, {{"LD_PRELOAD", ""}}, kProbeTime_s);
  size_t at = child.out.rfind("tprof-doctor ");
  if (child.status != 0 || at == child.out.npos) {
    out.why_not = path + " does not run: " + child.last_line();
    return out;
  }
  std::string mark, answer;
  std::istringstream(child.out.substr(at)) >> mark >> out.version >> answer;
  out.has_torch = answer == "True";
  return out;
}

}  // namespace

std::vector<Python> find_pythons(const std::vector<std::string>& named) {
  std::vector<Place> places;
  for (const std::string& name : named) places.push_back({name, ""});
  if (named.empty()) places = usual_places();
  std::vector<Python> out;
  std::set<std::string> seen;
  for (const Place& place : places) {
    ProgramFile file = find_program(place.name);
    if (file.status && named.empty()) continue;
    if (file.status) {
      out.push_back({place.name, "", file.why, "", false});
      continue;
    }
    if (!seen.insert(identity(file.path)).second) continue;
    out.push_back(look_at_python(file.path));
    out.back().found = place.found;
    if (named.empty() && out.back().has_torch) break;
  }
  return out;
}

}  // namespace tprof::doctor
