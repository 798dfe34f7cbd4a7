// What a directory holds, by the names in it alone: no file is opened. Symbolic links are not followed.
#pragma once
#include <map>
#include <optional>

#include "kineto/read/trace_names.h"

namespace tprof::view {

struct Listing {
  std::string directory;                  // its absolute path
  std::vector<kineto::TraceFile> traces;  // run: the directory, relative; "." for the directory itself. path: absolute
  std::map<std::string, std::vector<std::string>>
      recordings;                  // by run: names of recordings, which `tprof convert` reads
  std::vector<std::string> notes;  // one line each: what is not in the lists
};

// `directory`: an absolute path. Where it cannot be read, a note says so.
Listing list_directory(const std::string& directory);

// The traces of a run, or those of them of that worker or span; with its name in their `run`.
std::vector<kineto::TraceFile> chosen(const Listing& listing, const std::string& run,
                                      const std::optional<std::string>& worker, const std::optional<std::string>& span);

// {"directory": text, "notes": [text], "runs": [{"name": text, "run": as it stands in an address, "workers":
// [{"name", "worker": in an address, "spans": [text]}], "recordings": [text]}]}, with the runs in order of their names.
std::string json_of(const Listing& listing);

}  // namespace tprof::view
