// The lines of traceEvents: what every writer of events shares. One event per line, composed by hand from texts that
// were escaped once.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "kineto/write/output.h"
#include "model/trace.h"

namespace tprof::kineto {

using Json = nlohmann::ordered_json;

// Like json_ascii(), with the blanks that HTA's search for `"rank": N` needs.
std::string json_ascii_spaced(const Json& value);

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

  // `"name": "...", ` of a name of the Model.
  const std::string& name(u32 index);
  // `"pid": P, "tid": T, ` of a thread of the Model.
  const std::string& place(u32 thread) const { return places_[thread]; }

  // `"External id"` of a range, by its index. Readers mix up ids of ranges and correlations that are equal: ours begin
  // behind the span's correlations, unless they are all beyond the ranges anyway.
  u64 external_id(i64 event) const { return first_external_id_ + static_cast<u64>(event); }

 private:
  const Model& model_;
  OutputFile& out_;
  bool first_ = true;
  u64 first_external_id_ = 1;
  std::vector<std::string> names_, places_;
};

}  // namespace tprof::kineto
