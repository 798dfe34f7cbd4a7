// Models of several traces, in the order of their files, of which the next ones are read while one is looked at.
#pragma once
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kineto/read/read.h"

namespace tprof {

struct ReadTrace {
  Model model;
  PluginTrace plugin;
};

class ReadAhead {
 public:
  // As many readers as processors, but at most kMostReaders: that many Models wait or are being read, beside the one
  // that is looked at. One of a million events takes some 200 MB, 350 with `plugin`.
  static constexpr size_t kMostReaders = 4;

  ReadAhead(std::vector<std::string> paths, bool plugin);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;

  // The next trace, which takes the place of the last one. Throws what reading it threw; the one after it can be asked
  // for then. Not to be called more often than there are paths.
  std::unique_ptr<ReadTrace> next();

 private:
  struct Slot {
    std::unique_ptr<ReadTrace> trace;
    std::exception_ptr failure;
    bool finished = false;
  };
  void work();
  void read(const std::string& path, Slot& slot) const;

  const std::vector<std::string> paths_;
  const bool plugin_;
  size_t most_;       // traces begun and not given away
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::vector<Slot> slots_;       // by path
  size_t begun_ = 0, given_ = 0;  // paths
  bool unwanted_ = false;
  std::vector<std::thread> readers_;
};

}  // namespace tprof
