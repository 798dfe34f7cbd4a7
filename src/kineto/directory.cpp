#include "kineto/directory.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "kineto/names.h"

namespace tprof::kineto {
namespace {

namespace fs = std::filesystem;

std::string absolute_name(const fs::path& path) {
  std::error_code why;
  fs::path whole = fs::weakly_canonical(path, why);
  return (why ? path : whole).filename().string();
}

struct Found {
  std::string stamp, path;
};

// The traces of one directory.
void list_run(const std::string& run, const std::map<std::string, std::vector<Found>>& workers, TraceList& out) {
  for (const auto& [worker, all] : workers) {
    std::vector<Found> found = all;
    std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
      return a.stamp != b.stamp ? a.stamp < b.stamp : a.path < b.path;
    });
    size_t number = 0;
    for (size_t i = 0; i < found.size(); i++) {
      if (i && found[i].stamp == found[i - 1].stamp) {
        out.notes.push_back(found[i].path + ": has the name of " + found[i - 1].path + "; not read");
        found[i].path = found[i - 1].path;
        continue;
      }
      number += !found[i].stamp.empty();
      out.files.push_back({run, worker, found[i].stamp.empty() ? "default" : std::to_string(number), found[i].path});
    }
  }
}

}  // namespace

bool split_trace_name(const std::string& name, std::string& worker, std::string& stamp) {
  for (const char* suffix : {kFileSuffixGz, kFileSuffix}) {
    if (!name.ends_with(suffix)) continue;
    worker = name.substr(0, name.size() - std::string_view(suffix).size());
    size_t digits = worker.find_last_not_of("0123456789");
    bool stamped = digits != std::string::npos && worker[digits] == '.' && digits + 1 < worker.size();
    stamp = stamped ? worker.substr(digits) : "";
    worker.resize(worker.size() - stamp.size());
    return true;
  }
  return false;
}

TraceList list_traces(const std::string& path, const std::vector<MovedTrace>& more) {
  TraceList out;
  std::string worker, stamp;
  if (!fs::is_directory(path)) {
    std::string name = fs::path(path).filename().string();
    if (!split_trace_name(name, worker, stamp)) worker = name;
    fs::path directory = fs::path(path).parent_path();
    out.files.push_back({absolute_name(directory.empty() ? "." : directory), worker, stamp.empty() ? "default" : "1", path});
    return out;
  }
  std::map<std::string, std::map<std::string, std::vector<Found>>> runs;  // by directory
  std::error_code why;
  fs::recursive_directory_iterator at(path, fs::directory_options::skip_permission_denied, why), end;
  for (; !why && at != end; at.increment(why)) {
    if (!split_trace_name(at->path().filename().string(), worker, stamp)) continue;
    std::error_code ignored;
    if (at->is_directory(ignored)) continue;
    runs[at->path().parent_path().string()][worker].push_back({stamp, at->path().string()});
  }
  for (const MovedTrace& trace : more)
    if (split_trace_name(fs::path(trace.path).filename().string(), worker, stamp))
      runs[trace.directory][worker].push_back({stamp, trace.path});
  if (why) out.notes.push_back(path + ": could not be read to its end: " + why.message());
  for (const auto& [directory, workers] : runs) {
    std::string run = fs::path(directory).lexically_relative(path).string();
    list_run(run.empty() || run == "." ? absolute_name(path) : run, workers, out);
  }
  return out;
}

}  // namespace tprof::kineto
