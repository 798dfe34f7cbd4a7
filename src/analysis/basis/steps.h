// The steps of a run as spans of time, and which kinds of work fill them.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "analysis/basis/intervals.h"
#include "analysis/basis/name_classes.h"

namespace tprof {

// In order of precedence: a moment counts for the first category that is busy. CATEGORY(name, "text")
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
  u64 activities = 0;      // number of GPU activities launched in it
  bool whole = true;       // false: some of its GPU work is missing from the trace (see step_spans)
  bool evaluates = false;  // an evaluation lies inside it
  StepCut cut = StepCut::none;
  bool counts = true;  // for averages: whole steps without an evaluation, if there are any; else the next best ones
};

// Steps in order, not overlapping. A step starts at the end of the previous one, or at its start on the host if that is
// later, but not before the end of GPU work launched before the first step or in a preceding evaluation. It ends with
// the last GPU work launched in it, or at its end on the host if that is later. An evaluation may lie between two
// steps. Without steps in the Model there is one span, of everything.
//
// Traces may lack GPU work of their last steps (profilers stop collecting before GPUs are done). Not whole are steps at
// the end without GPU work if others have some, and the last one if it has less than 0.8 of the previous one's.
std::vector<StepSpan> step_spans(const Model& model);

// By category, except the last one: when it is busy.
std::array<IntervalSet, kCategories - 1> category_times(const Model& model, const NameClasses& classes);

}  // namespace tprof
