// Which traces a recording becomes: one job per span.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "convert/convert.h"
#include "model/build.h"

namespace tprof {

// One trace to be written.
struct TraceJob {
  SpanRequest request;
  u64 name_ns = 0;       // in the file name
  i64 step_number = -1;  // for {step}; -1: one past the last step of the span
  bool last_of_window = false;
  i64 flush = -1;                      // its number, -1: not a flush
  bool ended_before_training = false;  // it ended before the program began to train, which its trace may not state
  bool only_to_mark = false;           // its trace is written and needs that mark only; the events may be gone
  bool even_if_empty = false;
};

struct Plan {
  std::vector<TraceJob> jobs;
  Rest rest;
  bool complete = false;  // as in ConvertResult, and the next two
  bool more = false;
  std::string note;
};

// Whether what a window recorded may have been punched out, because its trace is written.
bool is_given_back(const Recording& recording, i64 window);
constexpr char kGivenBack[] =
    "windows that were written while the program ran are no longer in the recording; their traces remain";

// A recording as it was when it was opened.
struct OpenRecording {
  std::unique_ptr<Recording> reader;
  bool alive = false;  // its program still writes to it
  Meta meta;
  Damage meta_damage;  // found in the meta stream
};

// Adds windows without anything to write to `state`.
Plan plan_traces(const OpenRecording& recording, const ConvertOptions& options, ConvertState& state);

}  // namespace tprof
