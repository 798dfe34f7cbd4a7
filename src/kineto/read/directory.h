// Finds the traces in a path, and their run, worker and span in the terms of torch_tb_profiler.
//
// Every directory at or below the path that holds a trace is a run, named by its relative path. The name of a file,
// <worker>[.<stamp>].pt.trace.json[.gz], determines worker and span: the span is the index of the stamp among those of
// the worker, sorted as texts, or "default" without a stamp. Files with other names that end in .json[.gz], as custom
// trace handlers write them, are inspected: those that hold events are traces, too, with the name before that ending as
// worker.
#pragma once
#include <string>
#include <vector>

namespace tprof::kineto {

struct TraceFile {
  std::string run, worker, span, path;
  bool plugin_takes = true;  // the plugin accepts its name
};

struct TraceList {
  std::vector<TraceFile> files;      // by run, worker and span
  std::vector<std::string> notes;    // one line each: files that hold the same window, unreadable directories
  std::vector<std::string> skipped;  // files that end in .json[.gz] but are no traces
};

// A trace that is treated as if it were in another directory.
struct MovedTrace {
  std::string directory, path;
};

// The traces of a directory, or a single file, which may have any name.
TraceList list_traces(const std::string& path, const std::vector<MovedTrace>& more = {});

// Whether a file is a trace: by a name that the plugin accepts, or by the contents if the name ends in .json[.gz].
bool is_trace(const std::string& path);
bool is_merged(const std::string& path);     // a timeline that `tprof merge` wrote, which is no trace
bool holds_events(const std::string& path);  // reads no further than to the first event
bool ends_as_json(const std::string& name);

// The worker and the stamp (with its dot, or empty) of a file name; false if the plugin does not accept the name.
bool split_trace_name(const std::string& name, std::string& worker, std::string& stamp);

}  // namespace tprof::kineto
