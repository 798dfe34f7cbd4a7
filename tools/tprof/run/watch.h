// Notices recordings that are made in a directory and disappear again.
#pragma once
#include <string>

namespace tprof {

class RecordingWatch {
 public:
  explicit RecordingWatch(const std::string& directory);
  ~RecordingWatch();
  RecordingWatch(const RecordingWatch&) = delete;

  // Whether a recording of a process of this machine has disappeared. False if the system does not report it.
  bool any_gone();

 private:
  std::string directory_;
  int fd_;
};

}  // namespace tprof
