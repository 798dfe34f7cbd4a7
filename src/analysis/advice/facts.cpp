#include "analysis/advice/facts.h"

#include <algorithm>
#include <cmath>

#include "model/death.h"

namespace tprof {
namespace {

// CUPTI numbers all calls; a trace holds only those that are worth a record. In 60 public traces this is one call in 1
// to 18. In excerpts of traces, such as those of HTA's tests, it is one in 216 to 224.
constexpr u64 kSparseCalls = 60, kMinCalls = 100;
constexpr double kSlowCollective = 3;

bool is_excerpt_of(const Model& model) {
  u64 least = UINT64_MAX, most = 0, count = 0;
  for (const CallEvent& call : model.calls) {
    if (!call.correlation) continue;
    least = std::min<u64>(least, call.correlation);
    most = std::max<u64>(most, call.correlation);
    count++;
  }
  return count >= kMinCalls && (most - least) / count > kSparseCalls;
}

i64 slow_collectives(const CollectiveCalls& found) {
  std::map<std::pair<std::string, std::string>, std::vector<const CollectiveCall*>> kinds;
  for (const CollectiveCall& call : found.calls)
    if (call.bytes >= 0) kinds[{call.op, call.group}].push_back(&call);
  i64 ns = 0;
  for (auto& [kind, calls] : kinds) {
    std::sort(calls.begin(), calls.end(),
              [](auto* a, auto* b) { return a->bytes != b->bytes ? a->bytes > b->bytes : a->dur_ns < b->dur_ns; });
    i64 shortest = INT64_MAX;  // of those that moved at least as many bytes
    for (const CollectiveCall* call : calls) {
      shortest = std::min(shortest, call->dur_ns);
      if (double(call->dur_ns) > kSlowCollective * double(shortest)) ns += call->dur_ns - shortest;
    }
  }
  return ns;
}

bool is_gpu_work(PathKind kind) {
  return kind == PathKind::computation || kind == PathKind::communication || kind == PathKind::copy;
}

}  // namespace

std::string busy_text(double waited) {
  if (!(waited > kWaitsMuch)) return "";
  return "the machine was busy with other work: for " + std::to_string(int(std::lround(waited * 100))) +
         " % of the time the main thread waited for a CPU; durations and differences between steps are unreliable, so "
         "record again on a quiet machine";
}

Facts::Facts(const Model& m, const std::vector<DevicePeak>& table)
    : model(m),
      classes(m),
      waits(m, classes),
      windows(windows_of(m)),
      overview(overview_of(m)),
      exposed(tprof::exposed(m, classes, windows)),
      launches(tprof::launches(m, windows, waits)),
      copies(tprof::copies(m, windows)),
      memory(memory_peaks(m, windows)),
      flops(tprof::flops(m, windows, table)),
      variability(tprof::variability(overview)),
      device_ns(m.events.size()),
      exchanges(m.gpu.size()) {
  HostTimelines timelines(m, classes, waits);
  lanes = idle(m, windows, timelines);
  for (const IdleLane& lane : lanes)
    if (lane.stream == kNone && (!gpu || lane.busy_ns > gpu->busy_ns)) gpu = &lane;
  for (const DeviceExposed& row : exposed)
    if (gpu && row.device == gpu->device) gpu_time = &row.all;
  if (gpu)
    if (auto known = m.devices.find(gpu->device); known != m.devices.end()) device = &known->second;

  for (const GpuEvent& work : m.gpu)
    if (work.runs_on_gpu() && work.op >= 0 && inside(work.begin_ns)) device_ns[work.op] += work.dur_ns;
  for (size_t i = m.events.size(); i-- > 0;)  // parents stand before their children
    if (m.events[i].parent >= 0) device_ns[m.events[i].parent] += device_ns[i];

  for (const auto& [number, sets] : gpu_sets(m, classes)) computing = computing | sets.computation | sets.communication;
  CriticalPaths paths(m, classes, timelines);
  for (const Interval& step : windows.steps)
    for (const PathPiece& piece : paths.of(step).pieces)
      if (is_gpu_work(piece.kind)) path.push_back(piece);

  bool backward = false, updates = false;
  for (const Event& e : m.events) {
    backward |= static_cast<Scope>(e.scope) == Scope::backward;
    updates |= classes.is(e, NameClass::optimizer_step);
  }
  trains = backward || updates;
  for (const CallEvent& call : m.calls) captures |= classes.is(call, NameClass::captures) && inside(call.begin_ns);
  lacks_backward = updates && !backward;
  is_excerpt = is_excerpt_of(m);
  died_early = died_in_first_step(m);
  double share = machine_figures(m.info)[u32(MachineFigure::waited)];
  if (std::isfinite(share)) waited = share;
  CollectiveCalls collectives = collective_calls(m, classes, windows);
  slow_collectives_ns = slow_collectives(collectives);
  for (const CollectiveCall& call : collectives.calls)
    if (call.work != kNone) exchanges[call.work] = call.exchanges_gradients();
  u64 launched = 0, replayed = 0;
  for (const GpuEvent& work : m.gpu) {
    if (!work.runs_on_gpu() || work.call == kNone || !inside(work.begin_ns)) continue;
    launched++;
    replayed += classes.is(m.calls[work.call], NameClass::replays);
  }
  replays_graphs = 2 * replayed > launched;
}

std::vector<std::string> Facts::unknown() const {
  std::vector<std::string> out;
  if (model.empty()) out.push_back("nothing was recorded: there is nothing to analyse");
  if (std::string death = death_text(model); !death.empty())
    out.push_back(death + (died_early ? ", in its first step: what to change is not known" : ""));
  if (!windows.has_steps)
    out.push_back("no steps in this trace: figures are for all of it, and how steps differ is not known");
  else if (windows.steps.size() < 3)
    out.push_back("fewer than three steps: how much they differ is not known");
  if (std::string busy = busy_text(waited); !busy.empty()) out.push_back(std::move(busy));
  if (!gpu) out.push_back("no GPU work in this trace: nothing is known of a GPU");
  if (is_excerpt)
    out.push_back(
        "most calls are missing from this trace, and the GPU work that they launched: shares of time, and where the "
        "GPU idles, are not known");
  if (captures)
    out.push_back("a CUDA graph is captured in this trace, which happens once: what its replays wait for is not known");
  if (lacks_backward)
    out.push_back("this trace has optimizer steps but no backward pass: what runs between operators is not known");
  if (gpu && !device) out.push_back("the GPU's properties are not in this trace: its memory and peak are not known");
  if (gpu && device && !device->name[0])
    out.push_back("the GPU's name is not in this trace: its peak is not known");
  else if (gpu && device && flops.counted && !flops.peak)
    out.push_back(std::string("the peak of ") + device->name +
                  " is not in the device table: MFU and roofs are not known");
  if (gpu && launches.without_call)
    out.push_back(std::to_string(launches.without_call) + " of " +
                  std::to_string(launches.without_call + launches.activities) +
                  " GPU activities have no launch in this trace: why the GPU waited for them is not known");
  if (!flops.shapes_known) out.push_back("no input shapes in this trace: FLOPs are not known");
  if (flops.unknown)
    out.push_back("FLOPs of " + std::to_string(flops.unknown) + " operators could not be computed from their inputs");
  for (const MemoryPeak& peak : memory)
    if (!peak.addresses_known) {
      out.push_back("memory events without addresses: who owned what at the peak is not known");
      break;
    }
  if (memory.empty()) out.push_back("no memory events: peaks and leaks are not known");
  return out;
}

}  // namespace tprof
