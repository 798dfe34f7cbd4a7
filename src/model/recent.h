// What a process did last, as its recording shows it while it is written: the newest chunks only, so that a look takes
// the same time however large the recording is.
//
// The writer goes on meanwhile. A record is whole or absent, and an end that is still 0 is that of something that goes
// on: what is read is the state at one moment or another during the look.
#pragma once
#include <string>
#include <vector>

#include "record/reader.h"

namespace tprof {

struct RecentCollective {
  std::string kind;   // "allreduce" ...
  std::string dtype;  // empty: not known
  i64 number = -1;    // in its group, as torch or NCCL counts; -1 not known
  i64 step = -1;      // in which it began, -1: in none
  i64 turn = -1;  // which one of its group's it was there, from 0; transfers between two ranks have none; -1 not known
  i64 elements = -1;  // that this process sends; -1 not known
  i32 peer = -1;      // root, or the other rank of a transfer; -1 none
  i64 age_ns = 0;     // since it began
  i8 done = -1;       // 0: not yet; -1: not known, as of NCCL, whose kernels are not seen while they run
};

struct RecentGroup {
  std::string name;                     // empty: not known
  std::string ranks;                    // "[0, 2]", as numbers of the whole job; empty: not known
  std::vector<RecentCollective> calls;  // in order of their begins
};

struct Recent {
  bool records = false;   // the process was recording at the time of the look
  u64 latest_ticks = 0;   // the last stamp in the newest chunks, 0: none
  i64 latest_age_ns = 0;  // how long ago that was
  i64 step = -1;          // that has begun last, recorded or not; -1: none has
  u64 step_ticks = 0;     // of the last sign of steps, recorded or not, see StepNow; 0: none so far
  std::vector<RecentGroup> groups;
};

// Throws Error as Recording::open() does.
Recent recent_of(Recording& recording, const Meta& meta);

}  // namespace tprof
