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
#include "base/json.h"
#include "base/sizes.h"
#include "hang/dump_bounds.h"
#include "hang/pickle.h"
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

// As bounded_json(), and within what a dump may hold.
Json read_json(std::string_view content) {
  DumpBounds bounds;
  using Event = Json::parse_event_t;
  std::array<size_t, DumpBounds::kDeepest + 1> members{};  // of the objects and arrays that are open
  auto within = [&](int depth, Event event, Json&) {
    if (size_t(depth) >= DumpBounds::kDeepest) return false;
    if (event == Event::object_start || event == Event::array_start) {
      bounds.add_member(members[size_t(depth)]++);
      members[size_t(depth) + 1] = 0;
    }
    event == Event::key ? bounds.add_key(members[size_t(depth)]++) : bounds.add_value();
    return true;
  };
  Json value = Json::parse(content, within, false);
  return value.is_discarded() ? Json() : value;
}

std::string text(const Json& object, const char* key) {
  bool is_one = object.is_object() && object.contains(key) && object[key].is_string();
  return is_one ? object[key].get<std::string>() : "";
}
i64 integer(const Json& object, const char* key, i64 otherwise) {
  bool is_one = object.is_object() && object.contains(key) && object[key].is_number_integer();
  return is_one ? object[key].get<i64>() : otherwise;
}
const Json& part(const Json& object, const char* key) {
  static const Json nothing;
  return object.is_object() && object.contains(key) ? object[key] : nothing;
}
std::string first_text(const Json& list) {
  return list.is_array() && !list.empty() && list[0].is_string() ? list[0].get<std::string>() : "";
}

// Of all tensors; -1 not known.
i64 elements_in(const Json& sizes) {
  if (!sizes.is_array() || sizes.empty()) return -1;
  double sum = 0;
  for (const Json& tensor : sizes) {
    double elements = 1;
    if (!tensor.is_array()) return -1;
    for (const Json& size : tensor) {
      if (!size.is_number_integer()) return -1;
      elements = with_dimension(elements, size.get<i64>());
    }
    sum += elements;
  }
  return size_or_unknown(sum);
}

// What the dump says of a group. The key of gloo's is ''.
const Json& of_group(const Json& groups, const std::string& name) {
  const Json& own = part(groups, name.c_str());
  return own.is_null() ? part(groups, "") : own;
}

RecentCollective call_of(const Json& entry, i64 completed, i64 now_ns) {
  RecentCollective out;
  std::string name = text(entry, "profiling_name");  // "gloo:all_reduce", "nccl:send 0->1"
  name = name.substr(name.find(':') == name.npos ? 0 : name.find(':') + 1);
  out.kind = name.substr(0, name.find(' '));
  out.number = integer(entry, "collective_seq_id", -1);
  out.elements = elements_in(part(entry, "input_sizes"));
  out.dtype = first_text(part(entry, "input_dtypes"));
  i64 created = integer(entry, "time_created_ns", 0);
  out.age_ns = created > 0 ? std::max<i64>(now_ns - created, 0) : 0;
  // The state of a collective on gloo stays "scheduled".
  const Json& retired = part(entry, "retired");
  bool done = text(entry, "state") == "completed" || (retired.is_boolean() && retired.get<bool>());
  out.done = done || (completed >= 0 && out.number >= 0 && out.number <= completed);
  return out;
}

void add_calls(const Json& dump, Recent& out) {
  const Json& entries = part(dump, "entries");
  std::string version = text(dump, "version");
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
    std::string name = first_text(part(entry, "process_group"));
    auto group = groups.find(name);
    if (group == groups.end()) {
      if (groups.size() == kMostGroups) refuse("it holds more than " + std::to_string(kMostGroups) + " groups");
      i64 completed = integer(of_group(part(dump, "pg_status"), name), "last_completed_collective", -1);
      group = groups.emplace(name, Group{out.groups.size(), completed}).first;
      out.groups.push_back({name, text(of_group(part(dump, "pg_config"), name), "ranks"), {}});
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
