// Why a GPU had nothing to do.
//
// A gap lies between two works of a lane: a stream, or a whole device (all its streams together). Before the first work
// and behind the last one is a gap too, at the window's edge. Its cause, after HTA:
//   host wait    the call that launched the next work returned only after the work before had ended, or there was no
//                next work: the host was late. If the work began more than kLongDelayNs behind that return, what lies
//                between is a gap of its own, of another cause
//   kernel wait  it was launched in time, and the gap is shorter than kKernelWaitNs: one kernel follows another
//   other        it was launched in time and yet began late, as another stream of the device came to its end or while
//                one was at work: it waited for that. A whole device never does
//   device       it was launched in time, and began late for nothing that is in the trace
//   unknown      no launch of the next work is known
// During a host wait the launching thread was doing something: that is what to change. Where it did nothing (a thread
// of autograd before it got its work), what the main thread did counts, as behind the last work.
#pragma once
#include <optional>

#include "analysis/basis/windows.h"
#include "analysis/time/activity.h"

namespace tprof {

enum class IdleCause : u8 { host_wait, kernel_wait, other, device, unknown };
constexpr u32 kIdleCauses = 5;
const char* idle_cause_text(IdleCause cause);

struct Gap {
  i64 begin_ns, end_ns;
  IdleCause cause;
  u32 next;                           // the work that ends it: index into Model::gpu; kNone at an edge without one
  bool edge = false;                  // before the first or behind the last work, also of an evaluation
  u32 sync = kNone;                   // host wait: the call that waited for the GPU as it began (it drained the queue)
  i64 host_ns = 0;                    // of it, until the launch began: what the host could have saved
  Activity most = Activity::nothing;  // what took most of a host wait

  i64 length() const { return end_ns - begin_ns; }
};

// What the host did in host waits: summed by activity and name.
struct HostReason {
  Activity activity;
  u32 name;  // of the range or call, kNone unknown
  i64 ns = 0;
  i64 edges_ns = 0;  // of it, in gaps at an edge
  u32 gaps = 0;      // in which it took part
  i32 event = -1;    // one example: the longest
  u32 call = kNone;
  i64 longest_ns = 0;
};

struct IdleLane {
  u32 device = 0;
  u32 stream = kNone;                 // kNone: the whole device
  i64 busy_ns = 0;                    // in the window
  i64 idle_ns = 0;                    // in the window, before the first and behind the last work too
  i64 edges_ns = 0;                   // of it, in gaps at an edge
  i64 by_cause[kIdleCauses] = {};     // of all gaps: they sum to idle_ns
  i64 by_activity[kActivities] = {};  // of the host waits, up to the launch; the launch's own delay is launch_ns
  i64 launch_ns = 0;                  // of the host waits: from the begin of the launch to the begin of the work
  // Of these, in gaps that a wait for the GPU began: it returned when the queue was empty.
  i64 after_sync[kActivities] = {};
  i64 launch_after_sync_ns = 0;
  // Of these and of by_cause, in gaps at an edge: what sets a window up and ends it, and not what repeats in it.
  i64 edges_by_cause[kIdleCauses] = {};
  i64 at_edges[kActivities] = {};
  i64 launch_at_edges_ns = 0;
  std::vector<Gap> gaps;            // in order of time
  std::vector<HostReason> reasons;  // longest first

  i64 of(IdleCause cause) const { return by_cause[u32(cause)]; }
  i64 at_edges_of(IdleCause cause) const { return edges_by_cause[u32(cause)]; }
  i64 of(Activity activity) const { return by_activity[u32(activity)]; }
};

// Devices first, then streams.
std::vector<IdleLane> idle(const Model& model, const Windows& windows, HostTimelines& timelines);

}  // namespace tprof
