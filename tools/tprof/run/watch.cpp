#include "run/watch.h"

#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <set>

#include "input/trace_file.h"
#include "record/empty.h"

namespace tprof {

RecordingWatch::RecordingWatch(const std::string& directory)
    : directory_(directory), fd_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  inotify_add_watch(fd_, directory.c_str(), IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);
}

RecordingWatch::~RecordingWatch() { close(fd_); }

bool RecordingWatch::any_gone() {
  std::set<std::string> gone;
  alignas(inotify_event) char buffer[16 << 10];
  for (ssize_t n; (n = read(fd_, buffer, sizeof buffer)) > 0;)
    for (ssize_t at = 0; at < n;) {
      auto* event = reinterpret_cast<inotify_event*>(buffer + at);
      at += static_cast<ssize_t>(sizeof *event + event->len);
      std::string name = event->len ? event->name : "";
      if (is_recording_name(name) && access((directory_ + "/" + name).c_str(), F_OK) != 0) gone.insert(name);
      if (name.ends_with(kEmptySuffix)) gone.erase(name.substr(0, name.size() - strlen(kEmptySuffix)));
    }
  return !gone.empty();
}

}  // namespace tprof
