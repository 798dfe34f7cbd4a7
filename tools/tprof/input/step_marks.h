// The steps of a trace that tprof wrote, taken from its text as it is read: what can be said of a trace that is too
// large to be analysed.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "model/step_cut.h"

namespace tprof {

struct StepMark {
  i64 number = 0;
  i64 begin_ns = 0, dur_ns = 0;  // on the host; the duration is exact, the begin to about a microsecond
  bool evaluates = false;        // an evaluation or inference lies inside it
  StepCut cut = StepCut::none;
};

class StepMarks {
 public:
  // The next part of the text, from its begin on.
  void feed(std::string_view text);
  // In order of time.
  std::vector<StepMark> take();

 private:
  void look_for(std::string_view mark, std::string_view lines);
  void add(std::string_view line);

  std::string rest_;  // a line whose end is still to come
  std::vector<StepMark> steps_;
  std::vector<i64> inside_;  // when stretches inside of steps begin
};

}  // namespace tprof
