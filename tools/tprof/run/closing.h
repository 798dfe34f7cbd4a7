// The line that `tprof run` prints when its program has ended: what was written, or why nothing was.
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
// What a run has written.
struct Written {
  std::string directory;
  std::vector<NewTrace> traces;  // by path
  size_t left_out = 0;           // older ones that were not read, since all together are larger than kMostTraceBytes
};
// Reading takes some 50 ms per MB (of gzip) at 2.5 GHz.
constexpr u64 kMostTraceBytes = 100 << 20;

// The traces in the directory, without those in `before` (files that existed at the start). If one cannot be read, the
// reason goes into completion.note.
Written read_written(const std::string& directory, const std::set<std::string>& before, Completion& completion);

// "the program was killed by SIGSEGV (segmentation fault)", or which of its processes were, as far as that is known; ""
// if none was. `fault`: one of them went wrong, and was not only told to end.
struct Deaths {
  std::string text;
  bool fault = false;
};
Deaths deaths_of(const std::vector<NewTrace>& written, int status);

std::string closing_line(const std::string& directory, const std::vector<NewTrace>& written,
                         const Completion& completion, const Options& options);

// The closing line where not all traces were read.
std::string short_line(const std::string& directory, const std::set<std::string>& before, const Completion& completion);

// The end of the closing line: "; 2 recordings of data-loader workers ... are kept", with the command that converts
// them. Empty if there are none.
std::string workers_clause(const std::string& directory, const std::set<std::string>& before);

// What a recording holds beyond the parts that were written, with the command that writes it; "" if there is nothing.
std::string rest_line(const std::string& directory, const std::set<std::string>& before);

// How many hangs were reported (--trigger hang>60s), and where; "" if there were none.
std::string hangs_line(const std::string& directory, const std::set<std::string>& before);

// The first step that a schedule records, -1 when it records from the start.
i64 first_recorded_step(const Schedule& schedule);

// Sends the flush signal to the program and to every process with a recording in the directory, but only to those that
// handle the signal. Returns their number.
int flush_recordings(const std::string& directory, int signal, int program);

}  // namespace tprof
