#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "base/process.h"

namespace tprof {
namespace {

constexpr u64 kUnknown = ~u64(0);

// The number behind `before` in a small file: "max" is none.
u64 number_in(const std::string& path, const char* before) {
  char text[4096];
  if (read_small_file(path.c_str(), text, sizeof text) <= 0) return kUnknown;
  const char* at = strstr(text, before);
  if (!at) return kUnknown;
  char* end;
  const char* digits = at + strlen(before);
  u64 number = strtoull(digits, &end, 10);
  return end == digits ? kUnknown : number;
}

// Of a group and of those above it. In a container the path may be one of the host's, of which there is only the top.
u64 least_up_from(const std::string& top, std::string group, const char* file) {
  u64 least = kUnknown;
  for (;; group.resize(group.rfind('/'))) {
    least = std::min(least, number_in(top + group + "/" + file, ""));
    if (group.rfind('/') == group.npos) return least;
  }
}

}  // namespace

u64 memory_here(const std::string& proc, const std::string& cgroups) {
  u64 least = number_in(proc + "/meminfo", "MemTotal:");
  if (least != kUnknown) least *= 1024;
  char text[4096];
  if (read_small_file((proc + "/self/cgroup").c_str(), text, sizeof text) <= 0) *text = 0;
  // A line is "<number>:<controllers>:<path>"; that of v2 names no controllers.
  char* rest = nullptr;
  for (char* line = strtok_r(text, "\n", &rest); line; line = strtok_r(nullptr, "\n", &rest)) {
    const char* controllers = strchr(line, ':');
    const char* group = controllers ? strchr(controllers + 1, ':') : nullptr;
    if (!group) continue;
    std::string named = "," + std::string(controllers + 1, group) + ",", path = group + 1;
    if (path == "/") path.clear();
    if (named == ",,")
      for (const char* mounted : {"", "/unified"})
        least = std::min(least, least_up_from(cgroups + mounted, path, "memory.max"));
    else if (named.find(",memory,") != named.npos)
      least = std::min(least, least_up_from(cgroups + "/memory", path, "memory.limit_in_bytes"));
  }
  return least == kUnknown ? 0 : least;
}

}  // namespace tprof
