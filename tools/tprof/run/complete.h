// What `tprof run` does for the recordings of its program when that has ended: waits for their finishers, finishes what a
// killed one left, and leaves to the background what takes longer than it may wait.
#pragma once
#include <string>

#include "model/counted.h"
#include "run/patience.h"

namespace tprof {

struct Completion {
  int running = 0;     // recordings of processes that still run
  int unfinished = 0;  // still being written, or given up on
  bool any = false;    // the program left a recording, be it empty
  Counted unrecorded;  // steps of a program that reached no window
  bool lost = false;   // recordings that were made are gone
  int status = 0;      // of the program, as wait() has it
  std::string note;    // the first thing that went wrong, or ""
};

Completion complete_recordings(const std::string& directory, Patience& patience);

}  // namespace tprof
