#include "input/trace_file.h"

#include <algorithm>
#include <filesystem>

#include "base/directory.h"
#include "base/error.h"
#include "json/json.h"
#include "kineto/gzip.h"
#include "kineto/ledger.h"

namespace tprof {
namespace {

constexpr size_t kHeadBytes = 256 << 10;
constexpr size_t kTailBytes = 1 << 20;  // far more than any ledger

u64 count_of(const Json& value) { return value.is_natural() ? value.natural() : 0; }

}  // namespace

TraceSummary read_summary(const std::string& trace) {
  kineto::GzipFile file = kineto::open_gzip(trace);
  std::string head, tail, block(512 << 10, 0);
  StepMarks marks;
  for (int n; (n = kineto::read_gzip(file, trace, block.data(), block.size())) != 0;) {
    if (n < 0) throw Error(Fault::unreadable, trace + ": damaged or cut off: " + kineto::gzip_error(file.get()));
    if (head.size() < kHeadBytes) head.append(block, 0, size_t(n));
    tail.append(block, 0, size_t(n));
    marks.feed({block.data(), size_t(n)});
    if (tail.size() > 2 * kTailBytes) tail.erase(0, tail.size() - kTailBytes);
  }
  TraceSummary out;
  if (size_t events = head.find("\"traceEvents\""); events != std::string::npos)
    out.head = bounded_json(head.substr(0, events) + "\"traceEvents\": []}");
  size_t at = kineto::find_ledger(tail);
  Json end = at == std::string::npos ? Json() : bounded_json("{" + tail.substr(at));
  out.ledger = end.is_object() ? kineto::well_typed(end["tprof"]) : Json();
  if (!out.ledger.is_object()) return out;
  out.steps = marks.take();
  const Json& ledger = out.ledger;
  out.written = count_of(ledger["written"]);
  for (const Json& count : ledger["dropped"]) out.dropped += count_of(count);
  return out;
}

bool is_trace_name(const std::string& name) {
  return name.ends_with(".pt.trace.json") || name.ends_with(".pt.trace.json.gz");
}

bool is_recording_name(const std::string& name) { return name.size() > 6 && name.ends_with(".tprof"); }

bool is_directory(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

std::vector<std::string> list_files(const std::string& directory, bool (*accept)(const std::string&)) {
  std::vector<std::string> out;
  for (const std::string& name : names_in(directory))
    if (accept(name)) out.push_back((std::filesystem::path(directory) / name).string());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace tprof
