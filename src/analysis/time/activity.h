// What a thread of the process was doing at each moment: its innermost range or CUDA call.
#pragma once
#include <map>

#include "analysis/basis/waits.h"

namespace tprof {

// ACTIVITY(name, "text that users see")
#define TPROF_ACTIVITIES(ACTIVITY)                       \
  ACTIVITY(data_loading, "waiting for the DataLoader")   \
  ACTIVITY(synchronising, "waiting for the GPU")         \
  ACTIVITY(allocating, "allocating or freeing memory")   \
  ACTIVITY(copying, "in a copy call")                    \
  ACTIVITY(launching, "in a launch call")                \
  ACTIVITY(other_call, "in another CUDA call")           \
  ACTIVITY(communicating, "in a communication operator") \
  ACTIVITY(operating, "in an operator")                  \
  ACTIVITY(between, "in Python, between operators")      \
  ACTIVITY(nothing, "in nothing that was recorded")

enum class Activity : u8 {
#define ACTIVITY(name, text) name,
  TPROF_ACTIVITIES(ACTIVITY)
#undef ACTIVITY
};
constexpr u32 kActivities = u32(Activity::nothing) + 1;
const char* activity_text(Activity activity);

// A period with one activity. Pieces do not overlap; the time between two of them is `nothing`.
struct ActivityPiece {
  i64 begin_ns, end_ns;
  Activity activity;
  i32 event = -1;    // the innermost range: an index into Model::events
  u32 call = kNone;  // index into Model::calls
};

// The pieces of each thread, computed on first use. The Model, the NameClasses and the Waits must outlive this.
class HostTimelines {
 public:
  HostTimelines(const Model& model, const NameClasses& classes, const Waits& waits);

  // In order of time; `thread` is an index into Model::threads.
  const std::vector<ActivityPiece>& of(u32 thread);
  const Waits& waits() const { return waits_; }

 private:
  struct Span {
    i64 begin_ns, end_ns;
    u32 index;  // of an event, or of a call
    bool is_call;
  };
  ActivityPiece piece_of(const std::vector<Span>& open) const;
  void append(std::vector<ActivityPiece>& out, const ActivityPiece& piece) const;
  std::vector<ActivityPiece> flatten(const std::vector<Span>& spans) const;

  const Model& model_;
  const NameClasses& classes_;
  const Waits& waits_;
  std::vector<std::vector<Span>> spans_;  // by thread, in order of start, parents first
  std::map<u32, std::vector<ActivityPiece>> made_;
};

}  // namespace tprof
