#include "sample/thread_states.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"

namespace tprof {
namespace {

std::string path_of(int pid, u32 tid, const char* file) {
  return "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/" + file;
}

}  // namespace

ThreadStates::~ThreadStates() {
  for (const auto& [tid, file] : files_) close(file.fd);
}

bool ThreadStates::is_on_cpu(u32 tid) {
  auto [known, added] = files_.try_emplace(tid, File{-1, round_});
  if (added) known->second.fd = open(path_of(pid_, tid, "stat").c_str(), O_RDONLY | O_CLOEXEC);
  File& file = known->second;
  file.round = round_;
  char text[256];
  ssize_t bytes = file.fd < 0 ? -1 : pread(file.fd, text, sizeof text - 1, 0);
  if (bytes <= 0) {  // the thread has ended; another one may have its number by now
    if (file.fd >= 0) close(file.fd);
    files_.erase(known);
    return false;
  }
  text[bytes] = 0;
  const char* name_end = strrchr(text, ')');
  return name_end && name_end[1] == ' ' && name_end[2] == 'R';
}

std::string ThreadStates::name_of(u32 tid) const {
  char text[32];
  int bytes = read_small_file(path_of(pid_, tid, "comm").c_str(), text, sizeof text);
  return bytes > 0 ? std::string(text, size_t(bytes) - (text[bytes - 1] == '\n')) : "";
}

void ThreadStates::forget_others() {
  for (auto it = files_.begin(); it != files_.end();) {
    bool old = it->second.round != round_;
    if (old) close(it->second.fd);
    it = old ? files_.erase(it) : std::next(it);
  }
  round_++;
}

}  // namespace tprof
