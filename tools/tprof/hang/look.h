// What the kernel says of a process and its threads at one moment, and what changed from one moment to the next.
#pragma once
#include <map>
#include <string>

#include "analysis/hang/facts.h"

namespace tprof::hang {

struct ThreadLook {
  u64 switches = 0;  // how often it gave up the processor or lost it
  u64 cpu_ticks = 0;
  u64 io_bytes = 0;  // read and written by system calls on descriptors, 0 if that may not be read
};

struct Look {
  State state = State::absent;  // alive, stopped, killed, or absent: there is no such process
  bool traced = false;          // stopped by a tracer: a debugger, or what reads stacks a hundred times a second
  int signal = 0;               // of one that was killed and whose parent has not noticed yet
  std::map<int, ThreadLook> threads;
};

// `start_time`: field 22 of /proc/<pid>/stat, which tells it from a later process with that id; 0: any.
Look look_at(int pid, u64 start_time);

// Of two looks, about a second apart: the state of the process; whether a thread ran between them; whether it did so a
// hundred times or for a tenth of a second, as what only waits does not; the bytes that all threads but tprof's own
// moved.
State settled_state(int pid, const Look& before, const Look& now);  // a tracer's stop that is over, is none
bool has_moved(const Look& before, const Look& now, int tid);
bool has_worked(const Look& before, const Look& now, int tid);
u64 moved_bytes(int pid, const Look& before, const Look& now);

}  // namespace tprof::hang
