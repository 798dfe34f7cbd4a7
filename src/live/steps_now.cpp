#include "live/steps_now.h"

#include <algorithm>

namespace tprof::live {

void StepsNow::see(i64 now, i64 number, i64 begin, i64 first, i64 first_begin) {
  now_ = now;
  bool anew = !seen_.empty() && number < seen_.back().number;  // counting started again, or a step was withdrawn
  if (anew) seen_.clear();
  if (seen_.empty() || number > seen_.back().number)
    seen_.push_back({number, begin});
  else
    seen_.back().begin = begin;
  while (seen_.size() > 2 && seen_[1].begin <= now - kRecent_ns) seen_.pop_front();
  if (number > first && begin > first_begin && first >= 0)
    mean_ = double(number - first) * 1e9 / double(begin - first_begin);
  else
    mean_ = -1;
}

double StepsNow::recent() const {
  if (seen_.size() < 2) return -1;
  const Seen &a = seen_.front(), &b = seen_.back();
  i64 length = b.begin - a.begin;
  if (length <= 0) return -1;
  auto steps = double(b.number - a.number);
  double step_ns = double(length) / steps;
  // A step that takes much longer than those before slows the rate down while it runs.
  if (double(running()) > 2 * step_ns) return steps * 1e9 / double(std::max<i64>(now_ - a.begin, 1));
  return 1e9 / step_ns;
}

}  // namespace tprof::live
