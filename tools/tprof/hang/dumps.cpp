#include "hang/dumps.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/sizes.h"
#include "hang/dump_bounds.h"
#include "hang/pickle.h"
#include "json/json.h"
#include "record/regular_file.h"

namespace tprof::hang {
namespace {

constexpr off_t kLargest = 256 << 20;
constexpr size_t kMostEntries = 200'000, kMostGroups = 1000;

// The number behind "rank_"; -1: none.
i32 rank_in(const std::string& name) {
  size_t at = name.rfind("rank_");
  if (at == std::string::npos) return -1;
  size_t from = at + 5, end = name.find_first_not_of("0123456789", from);
  if (end == std::string::npos) end = name.size();
  if (end == from || end - from > 6) return -1;
  return name.substr(end) == "" || name.substr(end) == ".json" ? i32(atoi(name.c_str() + from)) : -1;
}

std::string content_of(const std::string& path, i64& age_ns) {
  int fd = open_regular(path, O_RDONLY);
  struct stat s;
  std::string out;
  if (fstat(fd, &s) == 0 && s.st_size <= kLargest) {
    age_ns = i64(clock_ns(CLOCK_REALTIME)) - (i64(s.st_mtim.tv_sec) * 1'000'000'000 + s.st_mtim.tv_nsec);
    out.resize(size_t(s.st_size));
    for (size_t done = 0; done < out.size();) {
      ssize_t n = read(fd, out.data() + done, out.size() - done);
      if (n <= 0) out.resize(done);
      done += size_t(std::max<ssize_t>(n, 0));
    }
  }
  close(fd);
  return out;
}

Json read_json(std::string_view content) {
  DumpBounds bounds;
  return bounded_json(content, &bounds);
}

i64 integer(const Json& object, const char* key, i64 otherwise) {
  return object[key].is_integer() ? object[key].integer() : otherwise;
}
std::string first_text(const Json& list) {
  return !list.empty() && list.is_array() && list[0].is_string() ? list[0].text() : "";
}

// Of all tensors; -1 not known.
i64 elements_in(const Json& sizes) {
  if (!sizes.is_array() || sizes.empty()) return -1;
  double sum = 0;
  for (const Json& tensor : sizes) {
    double elements = 1;
    if (!tensor.is_array()) return -1;
    for (const Json& size : tensor) {
      if (!size.is_integer()) return -1;
      elements = with_dimension(elements, size.integer());
    }
    sum += elements;
  }
  return size_or_unknown(sum);
}

// What the dump says of a group. The key of gloo's is ''.
const Json& of_group(const Json& groups, const std::string& name) {
  const Json& own = groups[name];
  return own.is_null() ? groups[""] : own;
}

RecentCollective call_of(const Json& entry, i64 completed, i64 now_ns) {
  RecentCollective out;
  std::string name = entry.value("profiling_name", "");  // "gloo:all_reduce", "nccl:send 0->1"
  name = name.substr(name.find(':') == name.npos ? 0 : name.find(':') + 1);
  out.kind = name.substr(0, name.find(' '));
  out.number = integer(entry, "collective_seq_id", -1);
  out.elements = elements_in(entry["input_sizes"]);
  out.dtype = first_text(entry["input_dtypes"]);
  i64 created = integer(entry, "time_created_ns", 0);
  out.age_ns = created > 0 ? std::max<i64>(now_ns - created, 0) : 0;
  // The state of a collective on gloo stays "scheduled".
  bool done = entry.value("state", "") == "completed" || entry.value("retired", false);
  out.done = done || (completed >= 0 && out.number >= 0 && out.number <= completed);
  return out;
}

void add_calls(const Json& dump, Recent& out) {
  const Json& entries = dump["entries"];
  std::string version = dump.value("version", "");
  if (version.empty()) refuse("it is none");
  if (!version.starts_with("2.") || !entries.is_array()) refuse("its format is " + version + ", not 2");
  if (entries.size() > kMostEntries) refuse("it holds more than " + std::to_string(kMostEntries) + " calls");
  i64 now_ns = i64(clock_ns(CLOCK_REALTIME));
  out.records = true;
  struct Group {
    size_t at;  // in out.groups
    i64 completed;
  };
  std::map<std::string, Group> groups;  // by name
  for (const Json& entry : entries) {
    std::string name = first_text(entry["process_group"]);
    auto group = groups.find(name);
    if (group == groups.end()) {
      if (groups.size() == kMostGroups) refuse("it holds more than " + std::to_string(kMostGroups) + " groups");
      i64 completed = integer(of_group(dump["pg_status"], name), "last_completed_collective", -1);
      group = groups.emplace(name, Group{out.groups.size(), completed}).first;
      out.groups.push_back({name, of_group(dump["pg_config"], name).value("ranks", ""), {}});
    }
    out.groups[group->second.at].calls.push_back(call_of(entry, group->second.completed, now_ns));
  }
}

}  // namespace

bool is_dump_name(const std::string& name) { return name.find("trace_rank_") != name.npos && rank_in(name) >= 0; }

Dump read_dump(const std::string& path) {
  Dump out;
  out.rank = rank_in(std::filesystem::path(path).filename().string());
  if (out.rank < 0)
    throw Error(Fault::unreadable, path +
                                       ": of which rank it is a dump is not known; its name must end in one, as "
                                       "nccl_trace_rank_0 does");
  std::string content = content_of(path, out.age_ns);
  try {
    add_calls(content.starts_with("{") ? read_json(content) : read_pickle(content), out.recent);
  } catch (const Error& e) {
    throw Error(Fault::unreadable, path + ": not read as a dump of PyTorch's flight recorder: " + e.what());
  }
  return out;
}

}  // namespace tprof::hang
