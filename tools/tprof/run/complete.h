// What `tprof run` does with the recordings when its program has ended: it waits for their finishers and replaces those
// that were killed. What takes longer than it may wait is finished in the background.
#pragma once
#include <string>

#include "model/counted.h"
#include "run/patience.h"

namespace tprof {

struct Completion {
  int running = 0;     // recordings of processes that are still running
  int unfinished = 0;  // recordings that are still being converted, or could not be
  bool any = false;    // the program left a recording, perhaps an empty one
  Counted unrecorded;  // steps of a program that reached no window
  bool lost = false;   // recordings that existed are gone
  int status = 0;      // of the program, as waitpid() reports it
  std::string note;    // the first error, or ""
};

Completion complete_recordings(const std::string& directory, Patience& patience);

}  // namespace tprof
