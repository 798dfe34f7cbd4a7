// The program of a recording as one of tprof's processes beside it sees it: the sampler, the watcher.
#pragma once
#include <memory>
#include <string>

#include "record/reader.h"

namespace tprof {

class Followed {
 public:
  // Throws Error as Recording::open() does.
  explicit Followed(const std::string& path);
  ~Followed();
  Followed(const Followed&) = delete;

  const std::string& path() const { return path_; }
  Recording& recording() const { return *recording_; }
  int pid() const { return pid_; }
  bool process_ended() const;
  // Whether there is nothing left to do: the program has ended, or who started us has, or the recording is gone.
  bool ended() const;
  // The word at this offset of FileHeader, as it is now; 0 if the file is cut.
  u32 word(size_t offset) const { return read_at<u32>(offset); }
  u64 long_word(size_t offset) const { return read_at<u64>(offset); }

 private:
  template <class T>
  T read_at(size_t offset) const;

  std::string path_;
  int parent_, pid_ = 0, fd_ = -1, pidfd_ = -1;
  std::unique_ptr<Recording> recording_;
};

// Starts this binary again, with another subcommand for a recording. -1: it cannot be started.
pid_t start_beside(const char* command, const std::string& recording);

}  // namespace tprof
