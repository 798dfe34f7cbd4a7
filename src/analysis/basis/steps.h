// The steps of a run as spans of time, and what kind of work fills them.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "analysis/basis/intervals.h"
#include "analysis/basis/words.h"

namespace tprof {

// In the order in which they get the time. CATEGORY(name, "text")
#define TPROF_CATEGORIES(CATEGORY)         \
  CATEGORY(kernel, "Kernel")               \
  CATEGORY(copy, "Memcpy")                 \
  CATEGORY(set, "Memset")                  \
  CATEGORY(communication, "Communication") \
  CATEGORY(runtime, "Runtime")             \
  CATEGORY(data_loading, "DataLoader")     \
  CATEGORY(cpu, "CPU Exec")                \
  CATEGORY(other, "Other")

enum class Category : u8 {
#define CATEGORY(name, text) name,
  TPROF_CATEGORIES(CATEGORY)
#undef CATEGORY
};
constexpr u32 kCategories = u32(Category::other) + 1;
const char* category_text(Category category);

struct StepSpan {
  std::string name;
  Interval time{0, 0};
  u64 works = 0;           // GPU work launched in it
  bool whole = true;       // false: the trace lacks work of it (see step_spans)
  bool evaluates = false;  // an evaluation lies inside of it
  bool counts = true;      // averages are of these: whole ones in which no evaluation lies, if there are any
};

// Steps in order, not overlapping. A step lasts from the end of the one before, or its begin on the host if that is
// later, to the end of the last work launched in it, or its end on the host; it begins behind work that was launched
// before the first step or in an evaluation before it. Two steps need not touch: an evaluation may lie between them.
// Without steps in the Model: one, of everything.
//
// Traces may lack work of their last steps (profilers stop collecting before GPUs are done): steps at the end without
// work, when others have some, and the last one when it has less than 0.8 of the one before, are not whole.
std::vector<StepSpan> step_spans(const Model& model);

// When what is busy: by category but the last.
std::array<IntervalSet, kCategories - 1> category_times(const Model& model, const Words& words);

}  // namespace tprof
