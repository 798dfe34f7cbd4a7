#include "kineto/read/directory.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "kineto/names.h"
#include "kineto/read/parse.h"

namespace tprof::kineto {
namespace {

namespace fs = std::filesystem;

// In a trace little precedes the events; other JSON files may hold anything.
constexpr size_t kLongestBefore = 16 << 20;

fs::path whole_path(const fs::path& path) {
  std::error_code why;
  fs::path whole = fs::weakly_canonical(path, why);
  return why ? path : whole;
}

}  // namespace

bool is_merged(const std::string& path) try {
  TraceScanner scanner(path, 64 << 10, kLongestBefore);
  for (Piece piece; scanner.next(piece) && !piece.event;)
    if (piece.key == kMerge) return true;
  return false;
} catch (const Error&) {
  return false;
}

bool holds_events(const std::string& path) try {
  TraceScanner scanner(path, 64 << 10, kLongestBefore);
  Piece piece;
  while (scanner.next(piece) && !piece.event)
    if (piece.key == kMerge) return false;
  if (!scanner.is_list() || !piece.event) return scanner.saw_events();
  Values values;
  ParseError error;
  return parse_json(piece.text, Strictness::lenient, values, error) && member(values[0], "ph").is_text();
} catch (const Error&) {
  return false;
}

bool is_trace(const std::string& path) {
  std::string name = fs::path(path).filename().string(), worker, stamp;
  return split_trace_name(name, worker, stamp) || (ends_as_json(name) && holds_events(path));
}

TraceList list_traces(const std::string& path, const std::vector<MovedTrace>& more) {
  TraceList out;
  std::string worker, stamp;
  std::error_code why;
  if (!fs::is_directory(path, why)) {
    std::string name = fs::path(path).filename().string();
    bool plugin_takes = split_trace_name(name, worker, stamp);
    if (!plugin_takes) worker = before_json(name).empty() ? name : before_json(name);
    fs::path directory = fs::path(path).parent_path();
    fs::path whole = whole_path(directory.empty() ? "." : directory);
    out.files.push_back(
        {whole.filename().string(), worker, stamp.empty() ? "default" : "1", path, plugin_takes, whole.string()});
    return out;
  }
  std::map<std::string, std::map<std::string, std::vector<NamedTrace>>> runs;  // by directory
  fs::recursive_directory_iterator at(path, fs::directory_options::skip_permission_denied, why), end;
  for (; !why && at != end; at.increment(why)) {
    std::string name = at->path().filename().string(), file = at->path().string();
    bool plugin_takes = split_trace_name(name, worker, stamp);
    if (!plugin_takes) worker = before_json(name), stamp.clear();
    std::error_code ignored;
    if ((!plugin_takes && worker.empty()) || at->is_directory(ignored)) continue;
    if (plugin_takes || holds_events(file))
      runs[at->path().parent_path().string()][worker].push_back({stamp, file, plugin_takes});
    else
      out.skipped.push_back(file);
  }
  for (const MovedTrace& trace : more)
    if (split_trace_name(fs::path(trace.path).filename().string(), worker, stamp))
      runs[trace.directory][worker].push_back({stamp, trace.path});
  std::sort(out.skipped.begin(), out.skipped.end());
  if (why) out.notes.push_back(path + ": could not be read to its end: " + why.message());
  for (const auto& [directory, workers] : runs) {
    std::string run = fs::path(directory).lexically_relative(path).string();
    size_t before = out.files.size();
    fs::path whole = whole_path(directory);
    add_run(run.empty() || run == "." ? whole.filename().string() : run, workers, out);
    for (size_t i = before; i < out.files.size(); i++) out.files[i].directory = whole.string();
  }
  return out;
}

}  // namespace tprof::kineto
