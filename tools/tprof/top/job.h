// The programs that `tprof top` watches: those of a log directory, or a process and those that it has started, with
// their data-loader workers. Programs that come later are found, and those that have ended are forgotten if others run.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/process.h"
#include "live/program.h"

namespace tprof {

class WatchedJob {
 public:
  // Throws Error if the word is neither a process that tprof records nor a log directory of a program that runs.
  explicit WatchedJob(const std::string& pid_or_directory);

  void look();
  // Looks at the programs whose phase has changed, between two looks.
  void look_at_changes();
  // Programs in the order of their ranks, each with its workers; the slowest rank is marked.
  std::vector<live::ProgramView> views(size_t most_operators, size_t most_lines);
  // Why nothing is recorded so far; empty if something is.
  const std::string& waits() const { return waits_; }

 private:
  void find();
  void find_directory();
  void open_new(const std::string& path, live::ProcessesHere& processes);
  bool is_wanted(const live::Program& program) const;
  void wait_for_program();
  bool all_ended() const;
  void forget_ended();

  int pid_ = 0;
  ProcessIdentity process_;  // of pid_
  std::set<int> pids_;       // with those that it has started
  std::string directory_;    // empty: not known yet
  std::string waits_, problem_;
  std::map<std::string, std::unique_ptr<live::Program>> programs_;  // by path
  std::map<std::string, u64> ended_ns_;
  std::set<std::string> refused_;  // recordings that are not watched, or cannot be read
  u64 found_ns_ = 0;
};

}  // namespace tprof
