// Which recordings were made in a directory since, and are not there any more.
#pragma once
#include <string>

namespace tprof {

class RecordingWatch {
 public:
  explicit RecordingWatch(const std::string& directory);
  ~RecordingWatch();
  RecordingWatch(const RecordingWatch&) = delete;

  // Of this machine's processes; false where the system does not tell.
  bool any_gone();

 private:
  std::string directory_;
  int fd_;
};

}  // namespace tprof
