#include "analysis/time/exposed.h"

namespace tprof {

std::map<u32, GpuSets> gpu_sets(const Model& model, const NameClasses& classes) {
  std::map<u32, std::vector<Interval>> any[3];
  for (const GpuEvent& event : model.gpu)
    if (event.runs_on_gpu()) any[u32(classes.work(event))][event.device].push_back({event.begin_ns, event.end_ns()});
  std::map<u32, GpuSets> out;
  for (auto& [device, list] : any[0]) out[device].computation = IntervalSet(std::move(list));
  for (auto& [device, list] : any[1]) out[device].communication = IntervalSet(std::move(list));
  for (auto& [device, list] : any[2]) out[device].copies = IntervalSet(std::move(list));
  return out;
}

double Exposed::overlap() const {
  return communication_ns ? double(communication_ns - exposed_communication_ns) / double(communication_ns) : -1;
}

Exposed& Exposed::operator+=(const Exposed& more) {
  span_ns += more.span_ns;
  computation_ns += more.computation_ns;
  exposed_communication_ns += more.exposed_communication_ns;
  exposed_copies_ns += more.exposed_copies_ns;
  idle_ns += more.idle_ns;
  communication_ns += more.communication_ns;
  copies_ns += more.copies_ns;
  return *this;
}

namespace {

// The sets of a whole Model, already subtracted from each other: computed once for all windows.
struct Disjoint {
  explicit Disjoint(const GpuSets& sets)
      : all(sets),
        communication(sets.communication - sets.computation),
        copies(sets.copies - sets.computation - sets.communication) {}

  Exposed in(const Interval& w) const {
    Exposed out;
    out.span_ns = w.length();
    out.computation_ns = all.computation.length_in(w.begin, w.end);
    out.exposed_communication_ns = communication.length_in(w.begin, w.end);
    out.exposed_copies_ns = copies.length_in(w.begin, w.end);
    out.idle_ns = out.span_ns - out.computation_ns - out.exposed_communication_ns - out.exposed_copies_ns;
    out.communication_ns = all.communication.length_in(w.begin, w.end);
    out.copies_ns = all.copies.length_in(w.begin, w.end);
    return out;
  }

  const GpuSets& all;
  IntervalSet communication, copies;
};

}  // namespace

Exposed exposed_in(const GpuSets& sets, const Interval& window) { return Disjoint(sets).in(window); }

std::vector<DeviceExposed> exposed(const Model& model, const NameClasses& classes, const Windows& windows) {
  std::vector<DeviceExposed> out;
  for (const auto& [device, sets] : gpu_sets(model, classes)) {
    Disjoint disjoint(sets);
    DeviceExposed row{device, {}, {}};
    for (const Interval& run : windows.time.intervals()) row.all += disjoint.in(run);
    for (const Interval& step : windows.steps) row.steps.push_back(disjoint.in(step));
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace tprof
