// Where the steps of a recording end, and what lies between them.
//
// A step ends where the next step, or an evaluation beside the steps, begins. One with no next step in its loop would
// go on through all that follows the loop. It ends at the first of these that is known:
//   * where its loader was drawn from again, be there another batch or not, or where the range ended that stated it;
//   * where its newest update ended (of several optimizers, the last one), or in an inference its newest call. Nothing
//     shows what else its iteration did, so that it is marked and in no average (StepCut::last_update).
// What then lies before the next step, evaluation or the end is a stretch "After the loop".
//
// Where each step is a range that the user names (TPROF_STEP=range:REGEX, nvtx:REGEX), all end with their range, and
// what lies up to the next one is a stretch "Between the steps".
//
// A step in which recording ended ends there. It is marked, and in no average if its update is missing (or its call).
// If it had that, and what follows takes longer than in any other step, and than it took itself up to there, its loop
// was over by then: it ends as above.
// The same holds for a window of a schedule that ends where an evaluation begins.
#pragma once
#include <deque>
#include <functional>
#include <vector>

#include "model/build.h"

namespace tprof {

// A step, or a stretch between two, in the Model's time.
struct StepEdge {
  i64 begin_ns, end_ns;
  bool open;                   // its end was not seen: it ends with its last activity
  const StepInfo* step;        // nullptr: a stretch, or the whole span
  const StretchInfo* stretch;  // nullptr: a step, or the whole span
  StepCut cut = StepCut::none;
  bool leaves_rest = false;  // its loop is over: what follows is no part of it
};

class StepEdges {
 public:
  // `begin_ns`, `end_ns`: of the span. `goes_on`: its end is not the program's, so that what is open there was cut.
  // `to_ns` maps stamps.
  StepEdges(const Meta& meta, bool before_training, i64 begin_ns, i64 end_ns, bool goes_on,
            const std::function<i64(u64)>& to_ns);
  StepEdges(const StepEdges&) = delete;
  StepEdges& operator=(const StepEdges&) = delete;

  // Those of the whole recording, in order, each bounded by the next.
  const std::vector<StepEdge>& all() const { return edges_; }
  // Those that lie inside of steps.
  const std::vector<StretchInfo>& inside() const { return inside_; }

 private:
  // What is usual among the steps that another one follows.
  struct Usual {
    bool known = false;  // there are some
    i64 tail_ns = 0;     // the longest time from the last update, or call, to the next step
    u32 updates = 0;     // the fewest of a step
  };

  void gather(const Meta& meta, bool before_training);
  void add_left_over(const Meta& meta);
  void bound();
  Usual usual() const;
  void settle(size_t at, const Usual& usual);
  bool is_cut(const StepEdge& edge) const;
  bool is_done(const StepInfo& step, const Usual& usual) const;
  bool is_last_of_loop(size_t at, bool is_usual) const;
  bool ends_with_window(const StepInfo& step) const;
  void end_at(StepEdge& edge, i64 ns, StepCut cut);
  i64 window_end(const StepEdge& edge) const;
  void add_rests();

  const Meta& meta_;
  const i64 begin_ns_, end_ns_;
  const bool goes_on_;
  const std::function<i64(u64)>& to_ns_;
  std::vector<StepInfo> steps_;
  std::deque<StretchInfo> between_;
  std::vector<StretchInfo> inside_;
  std::vector<StepEdge> edges_;
};

}  // namespace tprof
