// What the names of trace files say, in the terms of torch_tb_profiler.
//
// Every directory at or below a path that holds a trace is a run, named by its relative path. The name of a file,
// <worker>[.<stamp>].pt.trace.json[.gz], determines worker and span: the span is the index of the stamp among those of
// the worker, sorted as texts, or "default" without a stamp.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace tprof::kineto {

struct TraceFile {
  std::string run, worker, span, path;
  bool plugin_takes = true;    // the plugin accepts its name
  std::string directory = {};  // that of its run, canonical; empty: not asked for
};

struct TraceList {
  std::vector<TraceFile> files;      // by run, worker and span
  std::vector<std::string> notes;    // one line each: files that hold the same window, unreadable directories
  std::vector<std::string> skipped;  // files that end in .json[.gz] but are no traces
};

// A file of one directory, of which the name is known.
struct NamedTrace {
  std::string stamp, path;
  bool plugin_takes = true;
};

// Adds the traces of one directory, by worker, as one run.
void add_run(const std::string& run, const std::map<std::string, std::vector<NamedTrace>>& workers, TraceList& out);

// The worker and the stamp (with its dot, or empty) of a file name; false if the plugin does not accept the name.
bool split_trace_name(const std::string& name, std::string& worker, std::string& stamp);

// The name before .json[.gz]; empty if the name ends otherwise.
std::string before_json(const std::string& name);
bool ends_as_json(const std::string& name);

}  // namespace tprof::kineto
