// What a step could not have been shorter than: the chain of host and GPU work that ends with the step's last event,
// each link being what finished last before the next could begin.
//
// A walk backward from the step's end, O(log n) a link, no graph. Work on a GPU began because the host launched it, or
// because the device had finished what it did before, whichever came later (by time: dependencies between streams are
// not traced everywhere). A call that waited for the GPU (waits.h) leads to the work that it waited for; one that
// returned behind its own copy leads to that copy, and by way of it to what its stream did before. Work that began more
// than kLongDelayNs behind its launch, with the device idle, waited for something that is not in the trace: it was held
// up. A host thread that is between operators while another thread of the job works waits for that thread (the backward
// pass runs on one of its own).
#pragma once
#include "analysis/basis/windows.h"
#include "analysis/time/activity.h"

namespace tprof {

// PATH(name, "text")
#define TPROF_PATH_KINDS(PATH)                                  \
  PATH(computation, "kernels")                                  \
  PATH(communication, "communication")                          \
  PATH(copy, "copies")                                          \
  PATH(launch, "from the launch to the begin of the work")      \
  PATH(held_up, "work that was launched and could not begin")   \
  PATH(gap, "from the end of one work to the begin of another") \
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
  Activity activity = Activity::nothing;  // of the host
  u32 work = kNone;                       // index into Model::gpu
  u32 call = kNone;                       // index into Model::calls
  i32 event = -1;                         // index into Model::events
};

struct CriticalPath {
  std::vector<PathPiece> pieces;  // in order of time, without holes: they sum to the step
  i64 by_kind[kPathKinds] = {};
  i64 by_activity[kActivities] = {};  // of the host's part
};

// Of several steps: what does not depend on the step is prepared once. Model, Words and timelines must outlive it.
class CriticalPaths {
 public:
  CriticalPaths(const Model& model, const Words& words, HostTimelines& timelines);
  CriticalPath of(const Interval& step);

 private:
  struct Place;  // where the walk is
  u32 work_ended_by(i64 ns, u32 device, u32 before) const;
  void walk_work(Place& at);
  void walk_host(Place& at);
  bool launched_late(const GpuEvent& work, u32 before) const;
  u32 waited_for(const PathPiece& piece, i64 from, i64 until) const;
  i64 busy_elsewhere(u32 thread, i64 begin, i64 end, u32& other);

  const Model& model_;
  const Words& words_;
  HostTimelines& timelines_;
  std::vector<u32> by_end_;    // work: indices into Model::gpu, in order of end
  std::vector<u32> position_;  // by Model::gpu: where it stands there
  std::vector<u32> threads_;   // that do the job's work: the main one, those that launch, those of autograd
  u32 main_;
};

}  // namespace tprof
