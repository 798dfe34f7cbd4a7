// What `tprof run` does once its program has ended: waits for the finishers, finishes what a killed one left,
// and says in one line what was written, or why nothing was.
#pragma once
#include <set>
#include <string>

#include "base/options.h"
#include "model/counted.h"
#include "supervise.h"
#include "trace_file.h"

namespace tprof {

struct Completion {
  int running = 0;     // recordings of processes that still run
  int unfinished = 0;  // still being written, or given up on
  Counted unrecorded;  // steps of a program that reached no window
  int status = 0;      // of the program, as wait() has it
  std::string note;    // the first thing that went wrong, or ""
};

// False when the user or time ended the wait.
bool wait_for(const std::function<bool()>& done, Supervisor& supervisor, u64 patience_ns);

Completion complete_recordings(const std::string& directory, Supervisor& supervisor, bool quiet);

struct NewTrace {
  std::string path;
  TraceSummary summary;
};
// Without those in `before`, the files that were there at the start. What cannot be read is noted.
std::vector<NewTrace> new_traces(const std::string& directory, const std::set<std::string>& before,
                                 Completion& completion);

std::string closing_line(const std::string& directory, const std::vector<NewTrace>& written,
                         const Completion& completion, const Options& options);

// Ends the line: "; 2 recordings of data-loader workers ... are kept", with the command that makes traces of them; ""
// when there are none.
std::string workers_clause(const std::string& directory, const std::set<std::string>& before);

// What a recording holds beyond the parts that were written, with the command that writes it; "" when
// nothing.
std::string rest_line(const std::string& directory, const std::set<std::string>& before);

// The first step that a schedule records, -1 when it records from the start.
i64 first_recorded_step(const Schedule& schedule);

// Sends the flush signal to the program and to every process with a recording here, as far as they handle it.
// Returns how many that were.
int flush_recordings(const std::string& directory, int signal, int program);

}  // namespace tprof
