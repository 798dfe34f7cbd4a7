#include "sample/thread_states.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "base/process.h"

namespace tprof {
namespace {

std::string path_of(int pid, u32 tid, const char* file) {
  return "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/" + file;
}

}  // namespace

ThreadStates::~ThreadStates() {
  for (const auto& [tid, file] : files_) close_files(file);
}

void ThreadStates::close_files(const File& file) {
  for (int fd : {file.stat, file.schedstat})
    if (fd >= 0) close(fd);
}

bool ThreadStates::has_run(u32 tid) {
  auto [known, added] = files_.try_emplace(tid);
  File& file = known->second;
  if (added) {
    file.stat = open(path_of(pid_, tid, "stat").c_str(), O_RDONLY | O_CLOEXEC);
    file.schedstat = open(path_of(pid_, tid, "schedstat").c_str(), O_RDONLY | O_CLOEXEC);
  }
  file.round = round_;
  char text[256];
  auto read_from = [&](int fd) {
    ssize_t bytes = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);
    text[std::max<ssize_t>(bytes, 0)] = 0;
    return bytes > 0;
  };
  bool has_times = read_from(file.schedstat);
  if (has_times && !file.on_cpu && file.times == text) return false;
  file.times = has_times ? text : "";
  if (!read_from(file.stat)) {  // the thread has ended; another one may have its number by now
    close_files(file);
    files_.erase(known);
    return true;
  }
  const char* name_end = strrchr(text, ')');
  file.on_cpu = name_end && name_end[1] == ' ' && name_end[2] == 'R';
  return true;
}

bool ThreadStates::is_on_cpu(u32 tid) const {
  auto known = files_.find(tid);
  return known != files_.end() && known->second.on_cpu;
}

std::string ThreadStates::name_of(u32 tid) const {
  char text[32];
  int bytes = read_small_file(path_of(pid_, tid, "comm").c_str(), text, sizeof text);
  return bytes > 0 ? std::string(text, size_t(bytes) - (text[bytes - 1] == '\n')) : "";
}

void ThreadStates::forget_others() {
  for (auto it = files_.begin(); it != files_.end();) {
    bool old = it->second.round != round_;
    if (old) close_files(it->second);
    it = old ? files_.erase(it) : std::next(it);
  }
  round_++;
}

}  // namespace tprof
