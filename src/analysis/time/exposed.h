// Where the time of a GPU went, counting each moment once: computing, communicating while nothing computes, copying
// while nothing computes or communicates, idle. The four sum to the window, even if activities overlap.
//
// The rule is TraceLens's: exposed communication = communication - computation, exposed copies = copies - computation
// - communication. Memory sets count as copies.
#pragma once
#include "analysis/basis/name_classes.h"
#include "analysis/basis/windows.h"

namespace tprof {

// When one GPU was busy.
struct GpuSets {
  IntervalSet computation, communication, copies;
};
// By device; devices without activities are left out.
std::map<u32, GpuSets> gpu_sets(const Model& model, const NameClasses& classes);

struct Exposed {
  i64 span_ns = 0;
  i64 computation_ns = 0;
  i64 exposed_communication_ns = 0;
  i64 exposed_copies_ns = 0;
  i64 idle_ns = 0;
  i64 communication_ns = 0, copies_ns = 0;  // hidden or not

  // The share of communication that is hidden, 0 to 1; -1 if there is none (HTA's comm-comp overlap).
  double overlap() const;
  Exposed& operator+=(const Exposed& more);  // of another window
};
Exposed exposed_in(const GpuSets& sets, const Interval& window);

struct DeviceExposed {
  u32 device;
  Exposed all;
  std::vector<Exposed> steps;  // by Windows::steps
};
std::vector<DeviceExposed> exposed(const Model& model, const NameClasses& classes, const Windows& windows);

}  // namespace tprof
