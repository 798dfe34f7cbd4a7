#include "run/newest.h"

#include <sys/stat.h>

#include <algorithm>
#include <numeric>

namespace tprof {
namespace {

struct FileState {
  u64 bytes = 0, changed_ns = 0;
};

FileState state_of(const std::string& path) {
  struct stat s;
  if (stat(path.c_str(), &s) != 0) return {};
  return {u64(s.st_size), u64(s.st_mtim.tv_sec) * 1'000'000'000 + u64(s.st_mtim.tv_nsec)};
}

}  // namespace

std::vector<std::string> newest_within(const std::vector<std::string>& files, u64 most_bytes) {
  std::vector<FileState> states;
  for (const std::string& file : files) states.push_back(state_of(file));
  std::vector<size_t> newest_first(files.size());
  std::iota(newest_first.begin(), newest_first.end(), size_t(0));
  std::stable_sort(newest_first.begin(), newest_first.end(),
                   [&](size_t a, size_t b) { return states[a].changed_ns > states[b].changed_ns; });
  std::vector<bool> taken(files.size());
  u64 bytes = 0;
  for (size_t at : newest_first) {
    bytes += states[at].bytes;
    if (bytes > most_bytes && at != newest_first[0]) break;
    taken[at] = true;
  }
  std::vector<std::string> out;
  for (size_t i = 0; i < files.size(); i++)
    if (taken[i]) out.push_back(files[i]);
  return out;
}

}  // namespace tprof
