// Why a GPU had nothing to do.
//
// A gap lies between two activities of a lane: a stream, or a whole device (all its streams together). The time before
// the first activity and after the last one is a gap too, at the window's edge. Its cause, after HTA:
//   host wait    the host was late: the call that launched the next activity returned after the previous activity had
//                ended, or no activity follows. If the next one started more than kLongDelayNs after that return, the
//                time between is a separate gap with another cause
//   kernel wait  it was launched in time, and the gap is shorter than kKernelWaitNs: one kernel follows another
//   other        it was launched in time but started late, while another stream of the device was busy or just when
//                that became idle: it waited for that stream. Never the cause for a whole device
//   device       it was launched in time but started late, and the trace does not show why
//   unknown      the launch of the next activity is not known
// What the launching thread did during a host wait is what to change. If it did nothing (a thread of autograd before it
// was given work), or after the last activity, the main thread's activity counts instead.
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
  u32 next;                           // the activity that ends it: index into Model::gpu; kNone: none, at an edge
  bool edge = false;                  // before the first or after the last activity, also next to an evaluation
  u32 sync = kNone;                   // host wait: the call that was waiting for the GPU when the gap started
  i64 host_ns = 0;                    // the part before the launch started: what the host could have saved
  Activity most = Activity::nothing;  // what took most of a host wait

  i64 length() const { return end_ns - begin_ns; }
};

// What the host did during host waits, summed by activity and name.
struct HostReason {
  Activity activity;
  u32 name;  // of the range or call; kNone: not known
  i64 ns = 0;
  i64 edges_ns = 0;  // the part in gaps at an edge
  u32 gaps = 0;      // in how many gaps it occurred
  i32 event = -1;    // one example: the longest
  u32 call = kNone;
  i64 longest_ns = 0;
};

struct IdleLane {
  u32 device = 0;
  u32 stream = kNone;                 // kNone: the whole device
  i64 busy_ns = 0;                    // in the window
  i64 idle_ns = 0;                    // in the window, including the gaps at its edges
  i64 edges_ns = 0;                   // the part in gaps at an edge
  i64 by_cause[kIdleCauses] = {};     // over all gaps: they sum to idle_ns
  i64 by_activity[kActivities] = {};  // host waits up to the launch; the rest is launch_ns
  i64 launch_ns = 0;                  // host waits from the start of the launch to the start of the activity
  // The same in gaps that follow a wait for the GPU, which returned when the queue was empty.
  i64 after_sync[kActivities] = {};
  i64 launch_after_sync_ns = 0;
  // The same, and by_cause, in gaps at an edge: they belong to the start and end of a window and do not repeat in it.
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
