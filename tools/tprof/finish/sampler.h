// The finisher's side of the sampler (tools/tprof/sample.cpp): it is started as a child, at the usual priority, and
// ends with the program.
#pragma once
#include <sys/types.h>

#include <string>

#include "base/types.h"

namespace tprof {

class SamplerProcess {
 public:
  SamplerProcess() = default;
  ~SamplerProcess() { stop(); }
  SamplerProcess(const SamplerProcess&) = delete;

  void start(const std::string& recording);
  // Waits a moment until the file holds every sample that was due by now.
  void catch_up() const;
  // Waits a moment for its end, and ends it if need be.
  void stop();

 private:
  pid_t pid_ = -1;
  std::string path_;
};

// Removes the companion of a recording that is gone.
void remove_samples(const std::string& recording);

}  // namespace tprof
