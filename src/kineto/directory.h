// Which traces a path holds, and as which run, worker and span they are known: torch_tb_profiler's names.
//
// Every directory at or below the path with a trace in it is a run, called by its way from there. A file's name,
// <worker>[.<stamp>].pt.trace.json[.gz], gives worker and span: the number of its stamp among the worker's, sorted as
// texts, or "default" without one.
#pragma once
#include <string>
#include <vector>

namespace tprof::kineto {

struct TraceFile {
  std::string run, worker, span, path;
};

struct TraceList {
  std::vector<TraceFile> files;    // by run, worker and span
  std::vector<std::string> notes;  // one line each: files that are the same window twice, directories not readable
};

// A trace that counts as lying in another directory than it does.
struct MovedTrace {
  std::string directory, path;
};

// Of a directory; or of one file, which may have any name.
TraceList list_traces(const std::string& path, const std::vector<MovedTrace>& more = {});

// The worker and the stamp (with its dot, or empty) of a file name; false: not a name of a trace.
bool split_trace_name(const std::string& name, std::string& worker, std::string& stamp);

}  // namespace tprof::kineto
