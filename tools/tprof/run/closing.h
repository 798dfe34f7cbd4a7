// What `tprof run` says in one line when its program has ended: what was written, or why nothing was.
#pragma once
#include <set>
#include <string>

#include "base/options.h"
#include "input/trace_file.h"
#include "run/complete.h"

namespace tprof {

struct NewTrace {
  std::string path;
  TraceSummary summary;
};
// Without those in `before`, the files that were there at the start. What cannot be read is noted.
std::vector<NewTrace> new_traces(const std::string& directory, const std::set<std::string>& before,
                                 Completion& completion);

std::string closing_line(const std::string& directory, const std::vector<NewTrace>& written,
                         const Completion& completion, const Options& options);

// Without a look into the traces, for which there was no time.
std::string short_line(const std::string& directory, const std::set<std::string>& before, const Completion& completion);

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
