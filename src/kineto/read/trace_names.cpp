#include "kineto/read/trace_names.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "kineto/names.h"

namespace tprof::kineto {

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

std::string before_json(const std::string& name) {
  for (std::string_view suffix : {".json.gz", ".json"})
    if (name.size() > suffix.size() && name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  return "";
}

bool ends_as_json(const std::string& name) { return !before_json(name).empty(); }

void add_run(const std::string& run, const std::map<std::string, std::vector<NamedTrace>>& workers, TraceList& out) {
  for (const auto& [worker, all] : workers) {
    std::vector<NamedTrace> found = all;
    std::sort(found.begin(), found.end(), [](const NamedTrace& a, const NamedTrace& b) {
      return std::tie(a.stamp, b.plugin_takes, a.path) < std::tie(b.stamp, a.plugin_takes, b.path);
    });
    size_t number = 0;
    for (size_t i = 0; i < found.size(); i++) {
      if (i && found[i].stamp == found[i - 1].stamp) {
        out.notes.push_back(found[i].path + ": has the name of " + found[i - 1].path + "; not read");
        found[i].path = found[i - 1].path;
        continue;
      }
      number += !found[i].stamp.empty();
      out.files.push_back({run, worker, found[i].stamp.empty() ? "default" : std::to_string(number), found[i].path,
                           found[i].plugin_takes});
    }
  }
}

}  // namespace tprof::kineto
