// Which of the windows that a run has written its summary is about. It reads a bounded number of events, so that the
// end of a run does not take long; there is a summary in any case, if need be of less.
#pragma once
#include <string>
#include <vector>

#include "run/nested.h"

namespace tprof {

struct SpanOfRun {
  size_t trace = 0;  // the caller's number for it
  SpanTime time;
  u64 steps = 0, events = 0;
  double step_ns = 0;               // the mean of its steps; 0 without steps
  bool before_training = false;     // of a program that trained later
  bool alone_longest = true;        // none of the spans of its process that were eligible is as long
  std::vector<std::string> inside;  // spans of its process that lie inside it: flushes
};

enum class Covers : u8 {
  whole,        // the longest span of each process, the newest of equally long ones (a flush is a part of a window)
  that_fit,     // the same of those spans that are small enough for one of each process to be read
  one_process,  // the same of the process with the longest steps
  steps_only,   // the longest span of that process, which is too large to be read
};

struct SpanChoice {
  Covers covers = Covers::whole;
  std::vector<SpanOfRun> spans;  // one for each process
  size_t processes = 0;          // that could have one
};

// `all`: those of a process in order of time. At most `most_events` are to be read.
SpanChoice choose_spans(const std::vector<SpanOfRun>& all, u64 most_events);

}  // namespace tprof
