// Why the time of a step may not be that of a whole iteration: see step_edges.h.
#pragma once
#include <iterator>
#include <string_view>

#include "base/types.h"

namespace tprof {

// What was cut of a step. CUT(name, counts, text): `counts`: its time is that of an iteration.
#define TPROF_STEP_CUTS(CUT)                                             \
  CUT(none, true, "")                                                    \
  CUT(entered, false, "recording began inside it")                       \
  CUT(left, false, "recording ended inside it")                          \
  CUT(left_updated, true, "recording ended inside it, after its update") \
  CUT(last_update, false, "ends with its last update or call, since no other step of its loop follows")

enum class StepCut : u8 {
#define CUT(name, counts, text) name,
  TPROF_STEP_CUTS(CUT)
#undef CUT
};
constexpr const char* kStepCutTexts[] = {
#define CUT(name, counts, text) text,
    TPROF_STEP_CUTS(CUT)
#undef CUT
};
inline StepCut step_cut_of(std::string_view text) {
  for (u32 cut = 0; cut < std::size(kStepCutTexts); cut++)
    if (text == kStepCutTexts[cut]) return StepCut(cut);
  return StepCut::none;
}
constexpr bool is_cut_short(StepCut cut) {
  constexpr bool kCounts[] = {
#define CUT(name, counts, text) counts,
      TPROF_STEP_CUTS(CUT)
#undef CUT
  };
  return !kCounts[u32(cut)];
}

}  // namespace tprof
