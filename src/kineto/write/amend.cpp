#include "kineto/write/amend.h"

#include <unistd.h>

#include "json/json.h"
#include "kineto/gzip.h"
#include "kineto/ledger.h"
#include "kineto/names.h"
#include "kineto/read/directory.h"
#include "kineto/write/lines.h"
#include "kineto/write/output.h"

namespace tprof::kineto {
namespace {

constexpr size_t kBlock = 256 << 10;
constexpr size_t kTail = 1 << 20;  // far more than any ledger

// The end of a trace with its ledger changed; empty if there is no ledger, or nothing to change.
std::string amended(const std::string& tail, const std::string& path) {
  size_t at = find_ledger(tail);
  if (at == tail.npos) return "";
  Json end = bounded_json("{" + tail.substr(at));
  if (!end.is_object() || !mark_ledger_before_training(end[kLedger])) return "";
  std::string before = tail.substr(0, at), key = std::string("\"") + kTraceName + "\": ";
  if (size_t name = before.rfind(key); name != before.npos) {
    size_t value = name + key.size();
    before.replace(value, before.find(",\n", value) - value, json_closing(path));
  }
  return before + "\"" + kLedger + "\": " + json_closing(end[kLedger]) + "\n}\n";
}

}  // namespace

std::string before_training_name(const std::string& trace) {
  size_t slash = trace.rfind('/') + 1;  // 0 without one
  std::string worker, stamp;
  if (!split_trace_name(trace.substr(slash), worker, stamp) || worker.ends_with(kBeforeTraining)) return trace;
  return trace.substr(0, slash) + worker + kBeforeTraining + trace.substr(slash + worker.size());
}

bool mark_before_training(const std::string& trace) {
  std::string path = before_training_name(trace);
  if (path == trace) return false;
  GzipFile file = open_gzip(trace);
  OutputFile out(path, trace.ends_with(".gz"));
  std::string tail, block(kBlock, 0);
  for (int n; (n = read_gzip(file, trace, block.data(), kBlock)) != 0;) {
    if (n < 0) return false;
    tail.append(block, 0, static_cast<size_t>(n));
    if (tail.size() <= 2 * kTail) continue;
    out.put(std::string_view(tail).substr(0, tail.size() - kTail));
    tail.erase(0, tail.size() - kTail);
  }
  std::string end = amended(tail, path);
  if (end.empty() || access(trace.c_str(), F_OK) != 0) return false;
  out.put(end);
  out.finish();
  unlink(trace.c_str());
  return true;
}

}  // namespace tprof::kineto
