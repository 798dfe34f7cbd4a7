#include "input/programs.h"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "remote/process.h"

namespace tprof {

int pid_in(const std::string& word) {
  bool digits = !word.empty() && word.find_first_not_of("0123456789") == std::string::npos && word.size() < 10;
  return digits ? atoi(word.c_str()) : 0;
}

std::vector<int> with_descendants(std::vector<int> pids) {
  std::multimap<int, int> children;
  std::error_code ignored;
  std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    int pid = atoi(entry.path().filename().c_str());
    if (pid <= 0 || std::filesystem::read_symlink(entry.path() / "exe", ignored) == self) continue;  // our finisher
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

}  // namespace tprof
