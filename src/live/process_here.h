// The process that writes a recording, found in /proc of this machine. In a container a process has another number than
// outside of it: the recording holds the one inside.
#pragma once
#include <map>
#include <optional>
#include <utility>

#include "record/record.h"

namespace tprof::live {

struct ProcessHere {
  int pid = 0;                // as this machine numbers it; 0: it is not here
  bool same_machine = false;  // it is here, or has ended; false: it may run where it is not seen from here
};

class ProcessesHere {
 public:
  // All processes are read at most once, and only if one that is in no recording by its number here is asked for.
  ProcessHere writer_of(const FileHeader& header);

 private:
  using Own = std::pair<u32, u64>;  // number in its own container, start time
  std::optional<std::map<Own, int>> all_;
};

}  // namespace tprof::live
