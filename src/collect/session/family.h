// Who this process is among the processes of its job, and where its recording goes.
//
// A program (the first process of a job that loads torch, or one with a RANK of its own) counts its own steps and gets
// traces. A helper (any other process below one) follows the phase of its leader, which it reads from the leader's
// recording, and leaves a recording only; it becomes a program when it trains on its own.
#pragma once
#include <limits.h>

#include "base/job.h"
#include "base/options.h"
#include "record/writer.h"

namespace tprof {

class Family {
 public:
  // Finds out the role. Returns whether this process may print lines: only the first one of its job does.
  bool find();
  // Finds the log directory, and with it the paths and variables below. False: `error` says why there is none.
  bool find_logdir(const Options& options, OptionError& error);
  const char* logdir() const { return logdir_; }

  bool is_helper() const { return role_ == Role::helper; }
  Role role() const { return role_; }
  void become_program();
  const JobPlace& place() const { return place_; }  // as its launcher told it
  // In a forked child: a helper of the process that it was.
  void become_child();
  u32 pid() const { return pid_; }

  RecordingSpec spec(u64 max_bytes, bool speaks) const;

  // "K=V" lines that child processes must find in their environment; empty before find_logdir().
  const char* exports() const { return exports_; }
  // Sets those variables in this process's environment. While nobody else reads it.
  void export_environment() const;
  // This process is not profiled: its children would only repeat why.
  void silence_children();

  // The leader of a helper. Its header is mapped once the recording exists; that takes a system call, so it is time to
  // look again only now and then.
  bool has_leader() const { return leader_ != nullptr; }
  bool is_time_to_look();
  bool find_leader();
  // The epoch that the leader records, kNoEpoch: it records nothing now.
  u32 leader_epoch() const;
  // FileHeader::last_epoch of the leader.
  u32 leader_last_epoch() const { return leader_->last_epoch.load(std::memory_order_relaxed); }
  // FileHeader::kept_epoch of the leader.
  u32 leader_kept_epoch() const { return leader_->kept_epoch.load(std::memory_order_relaxed); }

 private:
  void set_role(Role role);
  void set_recording_path(const char* directory, int length);

  // What a helper reads at every record comes first.
  Role role_ = Role::program;
  const FileHeader* leader_ = nullptr;
  u64 looked_ns_ = 0;  // CLOCK_MONOTONIC_COARSE, when the leader was last looked for
  JobPlace place_;
  u32 pid_ = 0;
  u32 parent_pid_ = 0;
  u64 created_ns_ = 0, base_time_ns_ = 0;
  char leader_path_[PATH_MAX] = {};
  char recording_path_[PATH_MAX] = {};
  char logdir_[PATH_MAX - 128] = {};
  char host_[64] = {};
  char exports_[3 * PATH_MAX] = {};
};

// Remembers the directory the process started in; a relative TPROF_LOGDIR is relative to it.
void remember_start_directory();

}  // namespace tprof
