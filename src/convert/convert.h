// Recording -> traces. The finisher, `tprof convert` and the tests all use this function: whoever calls it, and however
// often, a span gets the same file name and is written once.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "model/trace.h"

namespace tprof {

struct ConvertOptions {
  bool use_gzip = true;
  u64 begin = 0;            // offset of the recording in its file, see recordings_in()
  std::string worker_name;  // default <host>_<pid>; {step} is replaced
  std::string out_dir;      // default: the directory of the recording
  std::string known_in;     // another directory: spans that have a trace there are not written
  std::function<void(const Model&, const std::string& path)> on_written;  // called for each trace written
  std::string on_trace_ready;  // shell command run on each trace written; {} and {step} are replaced
  int threads = 1;             // spans converted at the same time
  bool only_sealed = false;    // while the program runs: only sealed windows and flushes
  size_t max_windows = 0;      // maximum number of windows in one call, the oldest first; 0: all
  bool force = false;          // rewrite spans whose file exists
  i64 first_step = -1;         // only the steps [first_step, end_step); end_step -1: to the last
  i64 end_step = -1;
  size_t max_events_per_span = 1'000'000;
  int max_spans = 4;            // for a recording without schedule
  bool keep_recording = false;  // for the finisher: no space is returned to the file system
};

class Machine;

// The progress of converting one recording; to be kept between calls.
struct ConvertState {
  std::set<u32> windows;             // written, or without anything to write
  std::set<u32> flushes;             // by number, from 0
  std::vector<u64> drops_reported;   // header().dropped as far as some ledger has them
  bool training_marked = false;      // the traces from before the training are marked
  const Machine* machine = nullptr;  // what was observed of it since; none: nothing was
};

struct WrittenTrace {
  std::string path;
  u64 events = 0, dropped = 0;  // in this conversion; 0 if the trace existed
  i64 first_step = -1, end_step = -1;
  bool existed = false;
};

// The events of a recording beyond the parts that were written.
struct Rest {
  u64 events = 0;
  i64 first_step = -1, end_step = -1;  // as FileHeader::rest_first_step
};

struct ConvertResult {
  std::vector<WrittenTrace> traces;
  Rest rest;
  bool complete = false;  // nothing is left to be written and the writer has ended: the file may be removed
  bool more = false;      // max_windows left some out
  bool damaged = false;
  bool nothing_recorded = false;  // the writer has ended and no span has any event
  std::string note;               // one line for the user, may be empty
};

// One line for the user, with the command that writes the rest; "" if there is none.
std::string rest_text(const Rest& rest, const std::string& recording);

// The options with which the program ran (info "option.<field>"), except on_trace_ready: no command from a file is ever
// run.
ConvertOptions options_of(const Meta& meta);
// TPROF_MAX_SIZE of the program, in bytes.
u64 max_size_of(const Meta& meta);

// Throws Error if the recording cannot be read or a trace cannot be written.
ConvertResult convert_recording(const std::string& recording_path, const ConvertOptions& options, ConvertState& state);
inline ConvertResult convert_recording(const std::string& recording_path, const ConvertOptions& options) {
  ConvertState state;
  return convert_recording(recording_path, options, state);
}

// Returns the space of the windows in `state` to the file system; see model/reclaim.h.
u32 punch_written(const std::string& recording_path, const ConvertState& state);

}  // namespace tprof
