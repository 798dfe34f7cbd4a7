// What is shown of one program: plain values, made anew at each look. -1 and empty texts: not known.
#pragma once
#include <string>
#include <vector>

#include "analysis/basis/steps.h"
#include "live/line_samples.h"
#include "live/loader_work.h"

namespace tprof::live {

struct OperatorView {
  std::string name;
  i64 self_ns = 0, total_ns = 0;
  u64 calls = 0;
};

struct MemoryView {
  std::string device;                         // "CPU", "CUDA 0"
  i64 allocated = 0, peak = 0, reserved = 0;  // bytes; peak: since the look began; reserved 0: not counted
};

// The mean of the last steps that were recorded.
struct StepView {
  u64 steps = 0;  // 0: there were none so far
  i64 first = 0, last = 0;
  i64 age_ns = 0;  // since the last one ended
  double ns = 0;
  std::array<double, kCategories> by{};   // ns
  std::array<bool, kCategories> shown{};  // whether something of the category was seen
};

struct ProgramView {
  u32 pid = 0;
  std::string host, command, recording;
  i32 rank = -1, world_size = -1;
  bool ended = false;
  std::string why_ended;
  Phase phase = Phase::wait;
  std::string phase_text;  // "records steps 10 to 12 (window 1)", "waits: ..."
  i64 step = -1;           // the one that runs now
  i64 step_running_ns = 0;
  double rate = -1, mean_rate = -1;  // steps per second: in the last seconds, since the first step
  StepView recent;
  bool slow = false;                    // see mark_slow_ranks()
  double next_own_ns = -1;              // of a slow one: the own_ns of the rank that it was compared with
  double own_ns = -1;                   // of a recent step outside of communication
  std::vector<OperatorView> operators;  // of the last seconds that were recorded; unsorted
  i64 operators_self_ns = 0;            // of all of them
  std::vector<SampledLine> lines;
  u64 samples = 0;
  std::string why_no_lines;
  std::vector<MemoryView> memory;
  i64 rss = -1;     // bytes
  double cpu = -1;  // processors in use, by the program without its workers
  std::vector<LoaderView> workers;
  u64 dropped = 0;          // events that were not recorded
  std::string stopped;      // why recording stopped for good
  u64 lost_windows = 0;     // whose records were gone before they could be read
  u64 overtaken = 0;        // how often flight mode used chunks again before they could be read
  bool overflowed = false;  // the last step was too long to be summed up
};

}  // namespace tprof::live
