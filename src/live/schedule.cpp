#include "live/schedule.h"

#include <math.h>
#include <stdio.h>

#include <algorithm>

namespace tprof::live {
namespace {

std::string duration_text(double seconds) {
  char text[48];
  if (seconds < 120)
    snprintf(text, sizeof text, "%.0f s", std::max(1.0, ceil(seconds)));
  else if (seconds < 7200)
    snprintf(text, sizeof text, "%.0f min", seconds / 60);
  else
    snprintf(text, sizeof text, "%.1f h", seconds / 3600);
  return text;
}

std::string steps_of(const PhaseNow& now, i64 active) {
  i64 end = now.end_step > now.first_step ? now.end_step : now.first_step + active;
  if (end - now.first_step == 1) return "step " + std::to_string(now.first_step);
  return "steps " + std::to_string(now.first_step) + " to " + std::to_string(end - 1);
}

std::string until(i64 step, const PhaseNow& now) {
  std::string out = "step " + std::to_string(step);
  i64 left = step - now.step;
  if (now.step < 0 || left <= 0) return out;
  out += ", in " + std::to_string(left) + (left == 1 ? " step" : " steps");
  if (now.rate > 0) out += ", about " + duration_text(double(left) / now.rate);
  return out;
}

}  // namespace

std::string phase_text(const Schedule& s, const WindowSource& source, const PhaseNow& now) {
  std::string window = "window " + std::to_string(now.windows);
  if (now.phase == Phase::warmup) {
    i64 first = now.windows > 0 && now.first_step >= 0 ? now.first_step : -1;
    return "warms up " + window + (first >= 0 ? ": from " + until(first, now) : "");
  }
  if (now.phase == Phase::active) {
    if (!s.given || now.first_step < 0) return "records";
    return "records " + steps_of(now, s.active) + " (" + window + ")";
  }
  if (now.phase == Phase::ended)
    return "has recorded all " + std::to_string(now.windows) + (now.windows == 1 ? " window" : " windows") +
           " of its schedule";
  if (source.profiler_api) return "waits for cudaProfilerStart";
  if (!now.autostart && now.windows == 0) return "waits for tprof_start()";
  if (!s.given) return "is paused: an evaluation, or inference";
  std::string next = "waits for window " + std::to_string(now.windows + 1);
  // Without a step of its own the last window does not say where the next one begins.
  if (now.windows > 0 && now.end_step < 0) return now.first_step >= 0 ? "is paused: an evaluation, or inference" : next;
  i64 begin = now.windows > 0 ? now.end_step + s.wait : s.skip_first + (s.skip_first_wait ? 0 : s.wait);
  return next + ": " + until(begin, now);
}

}  // namespace tprof::live
