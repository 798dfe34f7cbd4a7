// The critical path of a step: the chain of host and GPU work that ends with the step's last event, where each link is
// what finished last before the next one could start.
//
// Found by walking backward from the step's end, O(log n) per link, without a graph. GPU work starts when the host has
// launched it and the device has finished its previous work; the later of the two is the link (by time: dependencies
// between streams are not traced everywhere). A call that waited for the GPU (waits.h) leads to the work that it waited
// for; a call that returned after its own copy leads to that copy, and from there to the earlier work of its stream.
// Work that started more than kLongDelayNs after its launch on an idle device was held up by something that is not in
// the trace. A host thread that is between operators while another thread of the job is busy waits for that thread (the
// backward pass has its own).
#pragma once
#include "analysis/basis/windows.h"
#include "analysis/time/activity.h"

namespace tprof {

// PATH(name, "text")
#define TPROF_PATH_KINDS(PATH)                                  \
  PATH(computation, "kernels")                                  \
  PATH(communication, "communication")                          \
  PATH(copy, "copies")                                          \
  PATH(launch, "from a launch to the start of its GPU work")    \
  PATH(held_up, "GPU work that was launched and did not start") \
  PATH(gap, "between the end and start of GPU activities")      \
  PATH(host, "the host")

enum class PathKind : u8 {
#define PATH(name, text) name,
  TPROF_PATH_KINDS(PATH)
#undef PATH
};
constexpr u32 kPathKinds = u32(PathKind::host) + 1;
const char* path_kind_text(PathKind kind);

struct PathPiece {
  i64 begin_ns, end_ns;
  PathKind kind;
  Activity activity = Activity::nothing;  // for PathKind::host
  u32 work = kNone;                       // index into Model::gpu
  u32 call = kNone;                       // index into Model::calls
  i32 event = -1;                         // index into Model::events
};

struct CriticalPath {
  std::vector<PathPiece> pieces;  // in order of time, without gaps: they sum to the step
  i64 by_kind[kPathKinds] = {};
  i64 by_activity[kActivities] = {};  // for PathKind::host
};

// Computes the paths of several steps; what does not depend on the step is prepared once. Model, NameClasses and
// timelines must outlive it.
class CriticalPaths {
 public:
  CriticalPaths(const Model& model, const NameClasses& classes, HostTimelines& timelines);
  CriticalPath of(const Interval& step);

 private:
  struct Walk;  // the state of the backward walk
  u32 work_ended_by(i64 ns, u32 device, u32 before) const;
  void walk_work(Walk& at);
  void walk_host(Walk& at);
  bool launched_late(const GpuEvent& work, u32 before) const;
  u32 waited_for(const PathPiece& piece, i64 from, i64 until) const;
  i64 busy_elsewhere(u32 thread, i64 begin, i64 end, u32& other);

  const Model& model_;
  const NameClasses& classes_;
  HostTimelines& timelines_;
  std::vector<u32> by_end_;    // GPU activities: indices into Model::gpu, in order of end
  std::vector<u32> position_;  // by Model::gpu: its index in by_end_
  std::vector<u32> threads_;   // the main thread, threads that launch, threads of autograd
  u32 main_;
};

}  // namespace tprof
