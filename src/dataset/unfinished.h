// A name under which something is written until it is complete.
#pragma once
#include <string>

namespace tprof::dataset {

class Unfinished {
 public:
  // Throws Error(Fault::usage) if there is something at `out` already, but for an empty directory.
  explicit Unfinished(const std::string& out);
  ~Unfinished();  // without finish(): removes what was written
  Unfinished(const Unfinished&) = delete;

  const std::string& path() const { return path_; }  // nothing is there yet
  // Throws Error if it cannot be renamed to `out`.
  void finish();

 private:
  const std::string out_;
  std::string path_;
};

}  // namespace tprof::dataset
