// The native side of the sampler. Threads are stopped one at a time while tprof-stack (stack/unwinder.h) unwinds them,
// but not those that are blocked in a call that a stop might break.
// The files that are mapped in the program are written down too: by them the addresses are named later.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <tuple>

#include "remote/process.h"
#include "sample/samples_file.h"
#include "stack/unwinder.h"

namespace tprof {

class NativeStacks {
 public:
  // Throws Error(Fault::unreadable) if tprof-stack is missing.
  NativeStacks(remote::Process& process, SamplesFile& file);

  // Once per look: notices files that were mapped or unmapped.
  void look_at_files();

  struct Stop {
    u32 stack = 0;             // id in the file; 0: it was not read
    u32 stopped_ns = 0;        // how long the thread was stopped
    bool not_stopped = false;  // it was blocked, and was read there
  };
  // `meanwhile` is called while the thread stands still, or not at all. Throws Error(Fault::unreadable) if tprof-stack
  // has ended.
  Stop stop(u32 tid, const std::function<void()>& meanwhile);
  // Processor time of tprof-stack so far.
  u64 cpu_ns() const { return unwinder_.cpu_ns(); }
  // Why the last one could not be read.
  const std::string& why_not() const { return why_not_; }

 private:
  using Image = std::tuple<std::string, u64, u64, u64, std::string>;  // path, begin, end, bias, build id
  void record_images();

  remote::Process& process_;
  SamplesFile& file_;
  Unwinder unwinder_;
  std::set<Image> images_;  // that are mapped now
  u32 maps_ = 0;            // as kMapShift has it
  u64 looked_ns_ = 0;
  std::string why_not_;
};

}  // namespace tprof
