// Recording -> traces. The one function behind the finisher, `tprof convert` and the tests: whoever calls it,
// and however often, a span gets the same file name and is written once.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "record/reader.h"

namespace tprof {

struct ConvertOptions {
  bool use_gzip = true;
  u64 begin = 0;               // of the recording in its file, see recordings_in()
  std::string worker_name;     // default <host>_<pid>; {step} is replaced
  std::string out_dir;         // default: where the recording lies
  std::string known_in;        // a directory: spans that have a trace there are not written
  std::string on_trace_ready;  // shell command run on each trace written; {} and {step} are replaced
  int threads = 1;             // spans converted at the same time
  bool only_sealed = false;    // the program lives: nothing but sealed windows and flushes
  size_t max_windows = 0;      // no more windows than these in one call, the oldest first; 0: all
  bool force = false;          // write spans whose file exists anew
  i64 first_step = -1;         // exactly the steps [first_step, end_step); end_step -1: to the last
  i64 end_step = -1;
  size_t max_events_per_span = 1'000'000;
  int max_spans = 4;            // of a recording without schedule
  bool keep_recording = false;  // for the finisher: nothing is given back to the file system
};

class Machine;

// What was done so far with one recording; keep it between calls.
struct ConvertState {
  std::set<u32> windows;             // written, or found to hold nothing
  std::set<u32> flushes;             // by number, from 0
  std::vector<u64> drops_reported;   // header().dropped as far as some ledger has them
  bool training_marked = false;      // the traces from before the training are marked
  const Machine* machine = nullptr;  // what was observed of it since; none: nothing was
};

struct WrittenTrace {
  std::string path;
  u64 events = 0, dropped = 0;  // of this conversion; 0 when it existed
  i64 first_step = -1, end_step = -1;
  bool existed = false;
};

// What a recording holds beyond the parts that were written.
struct Rest {
  u64 events = 0;
  i64 first_step = -1, end_step = -1;  // as FileHeader::rest_first_step
};

struct ConvertResult {
  std::vector<WrittenTrace> traces;
  Rest rest;
  bool complete = false;  // nothing is left to be written and the writer has ended: the file may go
  bool more = false;      // there were more than max_windows
  bool damaged = false;
  bool nothing_recorded = false;  // the writer has ended and no span has any event
  std::string note;               // one line for the user, may be empty
};

// One line for the user, with the command that writes it; "" when there is none.
std::string rest_text(const Rest& rest, const std::string& recording);

// The options that the program was run with (info "option.<field>"), except on_trace_ready: what a file says is never run.
ConvertOptions options_of(const Meta& meta);
// TPROF_MAX_SIZE of the program, in bytes.
u64 max_size_of(const Meta& meta);

// Throws Error when the recording cannot be read or a trace cannot be written.
ConvertResult convert_recording(const std::string& recording_path, const ConvertOptions& options, ConvertState& state);
inline ConvertResult convert_recording(const std::string& recording_path, const ConvertOptions& options) {
  ConvertState state;
  return convert_recording(recording_path, options, state);
}

// Gives the room of what `state` says is written back to the file system; see model/reclaim.h.
u32 punch_written(const std::string& recording_path, const ConvertState& state);

}  // namespace tprof
