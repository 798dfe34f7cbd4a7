// Finds the traces in a path, and their run, worker and span in the terms of torch_tb_profiler (trace_names.h).
//
// Files with other names that end in .json[.gz], as custom trace handlers write them, are inspected: those that hold
// events are traces, too, with the name before that ending as worker.
#pragma once
#include "kineto/read/trace_names.h"

namespace tprof::kineto {

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

}  // namespace tprof::kineto
