// Which traces a path holds, and as which run, worker and span they are known: torch_tb_profiler's names.
//
// Every directory at or below the path with a trace in it is a run, called by its way from there. A file's name,
// <worker>[.<stamp>].pt.trace.json[.gz], gives worker and span: the number of its stamp among the worker's, sorted as
// texts, or "default" without one. Files of other names that end in .json[.gz], as people's own trace handlers write
// them, are looked into: those that hold events are traces too, whose worker is the name before that end.
#pragma once
#include <string>
#include <vector>

namespace tprof::kineto {

struct TraceFile {
  std::string run, worker, span, path;
  bool plugin_takes = true;  // by its name
};

struct TraceList {
  std::vector<TraceFile> files;      // by run, worker and span
  std::vector<std::string> notes;    // one line each: files that are the same window twice, directories not readable
  std::vector<std::string> skipped;  // files that end in .json[.gz] and are no traces
};

// A trace that counts as lying in another directory than it does.
struct MovedTrace {
  std::string directory, path;
};

// Of a directory; or of one file, which may have any name.
TraceList list_traces(const std::string& path, const std::vector<MovedTrace>& more = {});

// Whether a file is a trace: by a name of the plugin's, or by what a file whose name ends in .json[.gz] holds.
bool is_trace(const std::string& path);
bool holds_events(const std::string& path);  // only what stands before the first one is read
bool ends_as_json(const std::string& name);

// The worker and the stamp (with its dot, or empty) of a file name; false: not a name of the plugin's.
bool split_trace_name(const std::string& name, std::string& worker, std::string& stamp);

}  // namespace tprof::kineto
