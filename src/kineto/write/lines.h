// The lines of traceEvents, which all writers of events share. One event per line, composed from texts that were
// escaped only once.
#pragma once
#include <string>
#include <vector>

#include "json/json.h"
#include "kineto/write/output.h"
#include "model/trace.h"

namespace tprof::kineto {

// Like json_ascii(), with the blanks that HTA's search for `"rank": N` needs.
std::string json_ascii_spaced(const Json& value);

// The same without a `]` in its texts, for what follows traceEvents: torch_tb_profiler 0.4.3 takes the last one in a
// trace of GPUs for the end of traceEvents, and adds its counters there. So `value` should hold no array either.
std::string json_closing(const Json& value);

class Lines {
 public:
  Lines(const Model& model, OutputFile& out);

  // The start of the next event.
  void begin() {
    out_.put(first_ ? "\n" : ",\n");
    first_ = false;
  }
  // A whole metadata event. `pid` is JSON.
  void put_meta(const char* name, const std::string& pid, i64 tid, const Json& args, i64 ts);

  // `"name": "...", ` for a name of the Model.
  const std::string& name(u32 index);
  // `"pid": P, "tid": T, ` for a thread of the Model.
  const std::string& row(u32 thread) const { return rows_[thread]; }

  // `"External id"` of a range, by its index. Readers confuse ids of ranges with equal correlations, so these ids start
  // after the correlations of the span, unless all correlations exceed the number of ranges anyway.
  u64 external_id(i64 event) const { return first_external_id_ + u64(event); }

 private:
  const Model& model_;
  OutputFile& out_;
  bool first_ = true;
  u64 first_external_id_ = 1;
  std::vector<std::string> names_, rows_;
};

}  // namespace tprof::kineto
