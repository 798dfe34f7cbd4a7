// What a program that is not being recorded waits for, in words.
#pragma once
#include <string>

#include "base/options.h"
#include "record/record.h"

namespace tprof::live {

struct PhaseNow {
  Phase phase = Phase::wait;
  i64 step = -1;        // that runs now, -1: none so far
  double rate = -1;     // steps per second, -1: not known
  i64 windows = 0;      // that were opened so far
  i64 first_step = -1;  // of the last window; -1: it has no steps of its own
  i64 end_step = -1;    // of the last window, one past its last; -1: open
  bool autostart = true;
};

// "records steps 10 to 12 (window 2)", "waits for window 3: step 115, in 12 steps, about 3 s".
std::string phase_text(const Schedule& schedule, const WindowSource& source, const PhaseNow& now);

}  // namespace tprof::live
