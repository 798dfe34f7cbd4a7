#include "input/programs.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/directory.h"
#include "input/trace_file.h"
#include "remote/process.h"

namespace tprof {
namespace {

std::string process(int pid, const char* what = "") { return "/proc/" + std::to_string(pid) + what; }

}  // namespace

int pid_in(const std::string& word) {
  bool digits = !word.empty() && word.find_first_not_of("0123456789") == std::string::npos && word.size() < 10;
  return digits ? atoi(word.c_str()) : 0;
}

std::vector<int> with_descendants(std::vector<int> pids) {
  std::multimap<int, int> children;
  std::error_code ignored;
  std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  for (int pid : numbers_in("/proc")) {
    if (std::filesystem::read_symlink(process(pid, "/exe"), ignored) == self) continue;  // our finisher
    if (int parent = atoi(remote::status_field(pid, "PPid").c_str())) children.emplace(parent, pid);
  }
  std::set<int> known(pids.begin(), pids.end());
  for (size_t i = 0; i < pids.size(); i++) {
    auto [from, to] = children.equal_range(pids[i]);
    for (auto child = from; child != to; ++child)
      if (known.insert(child->second).second) pids.push_back(child->second);
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

MappedHere tprof_in(int pid) {
  MappedHere out;
  for (const remote::Mapping& mapping : remote::mappings_of(pid)) {
    out.readable = true;
    out.library |= mapping.path.ends_with("/libtprof.so");
    if (!out.log_directory.empty() || mapping.executable || !is_recording_name(mapping.path)) continue;
    out.recorded = true;
    std::string path = remote::path_here(pid, mapping);
    if (is_recording_name(path)) out.log_directory = std::filesystem::path(path).parent_path().string();
  }
  return out;
}

std::string started_with(int pid, const std::string& variable) {
  std::ifstream file(process(pid, "/environ"), std::ios::binary);
  for (std::string entry; std::getline(file, entry, '\0');)
    if (entry.starts_with(variable + "=")) return entry.substr(variable.size() + 1);
  return "";
}

int program_for(const std::string& log_directory) {
  struct stat wanted, seen;
  if (stat(log_directory.c_str(), &wanted) != 0) return 0;
  std::error_code ignored;
  std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  for (int pid : numbers_in("/proc")) {
    if (stat(process(pid).c_str(), &seen) != 0 || seen.st_uid != geteuid()) continue;
    std::string given = started_with(pid, "TPROF_LOGDIR");
    if (given.empty()) continue;
    std::string path = process(pid, given.starts_with("/") ? "/root" : "/cwd/") + given;
    bool same = stat(path.c_str(), &seen) == 0 && seen.st_dev == wanted.st_dev && seen.st_ino == wanted.st_ino;
    if (same && tprof_in(pid).library && std::filesystem::read_symlink(process(pid, "/exe"), ignored) != self)
      return pid;
  }
  return 0;
}

}  // namespace tprof
