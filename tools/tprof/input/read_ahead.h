// Reads the Models of several traces in order. While one is used, threads read the next ones.
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
  // There are as many readers as processors, but at most `most_ahead`, and as many Models wait or are being read beside
  // the one that is used; 0: a trace is read when it is asked for. A Model of a million events takes some 200 MB, or
  // 350 MB with `plugin`.
  static constexpr size_t kMaxReaders = 4;

  ReadAhead(std::vector<std::string> paths, bool plugin, size_t most_ahead = kMaxReaders);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;

  // Returns the next trace, or throws what reading it threw; the call after that returns the following one. Must not be
  // called more often than there are paths.
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
  size_t max_ahead_;  // traces that may be started before they are returned by next()
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::vector<Slot> slots_;       // by path
  size_t begun_ = 0, given_ = 0;  // numbers of paths whose reading has started, and that next() was called for
  bool unwanted_ = false;
  std::vector<std::thread> readers_;
};

}  // namespace tprof
