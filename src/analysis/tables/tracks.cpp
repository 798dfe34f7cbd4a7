#include "analysis/tables/tracks.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "model/gpu/names.h"
#include "model/python.h"
#include "model/sort.h"

namespace tprof {
namespace {

// The slices of one track, before they are put into rows.
struct Gathered {
  Track track;
  std::vector<Slice> slices;
  size_t events = 0;  // the first ones, which are in order
};

bool launches_work(const Model& model, const CallEvent& call) {
  const std::string& name = model.names[call.name];
  return call.activities || name.starts_with("cuLaunch") || name.starts_with("cuGraphLaunch");
}

SliceKind kind_of(const Model& model, const CallEvent& call) {
  return call.is_driver() && !launches_work(model, call) ? SliceKind::driver : SliceKind::runtime;
}

SliceKind kind_of(const GpuEvent& work) {
  switch (work.kind()) {
    case Kind::kernel: return SliceKind::kernel;
    case Kind::copy: return SliceKind::copy;
    case Kind::set: return SliceKind::set;
    case Kind::graph: return SliceKind::graph;
    case Kind::sync: return SliceKind::sync;
    case Kind::gpu_event: return SliceKind::gpu_event;
    default: return SliceKind::overhead;
  }
}

SliceKind kind_of(const Event& event) {
  if (event.flags & kEventPython) return is_module(event) ? SliceKind::module : SliceKind::python;
  if (event.flags & kEventStep && !(event.flags & kEventStretch)) return SliceKind::step;
  if (event.flags & kEventNvtx) return SliceKind::nvtx;
  return event.scope == u8(Scope::user) ? SliceKind::label : SliceKind::op;
}

SliceKind kind_of(StretchKind kind) {
  static constexpr SliceKind kKinds[] = {
#define STRETCH(number, name, prefix, key) SliceKind::name,
      TPROF_STRETCHES(STRETCH)
#undef STRETCH
  };
  return kKinds[u32(kind) - 1];
}

// The end of the last slice of each row, while the slices of a track are placed in order of time.
class Rows {
 public:
  size_t place(const Slice& slice) {
    while (!ends_.empty() && ends_.back() <= slice.begin_ns) ends_.pop_back();
    size_t row = ends_.size();
    while (row > 0 && !(ends_[row - 1] > slice.begin_ns && ends_[row - 1] >= slice.end_ns())) row--;
    while (row < ends_.size() && ends_[row] > slice.begin_ns) row++;
    if (row == ends_.size()) ends_.push_back(0);
    ends_[row] = slice.end_ns();
    return row;
  }

 private:
  std::vector<i64> ends_;
};

class Builder {
 public:
  Builder(const Model& model, const TrackChoice& choice) : model_(model), choice_(choice) {}

  Tracks build() {
    add_host();
    add_gpu();
    of_event_.assign(model_.pairs.empty() ? 0 : model_.events.size(), kNone);
    of_call_.assign(model_.gpu.empty() ? 0 : model_.calls.size(), kNone);
    of_gpu_.assign(model_.gpu.size(), kNone);
    size_t n = 0;
    for (const Gathered& one : host_) n += one.slices.size();
    for (const auto& [key, one] : gpu_) n += one.slices.size();
    out_.slices.reserve(n);
    for (Gathered& one : host_) put(one);
    for (auto& [key, one] : gpu_) put(one);
    add_flows();
    return std::move(out_);
  }

 private:
  bool is_wanted(const Slice& slice) {
    bool wanted =
        (choice_.functions || slice.kind != SliceKind::python) &&
        (!choice_.times || choice_.times->length_in(slice.begin_ns, std::max(slice.end_ns(), slice.begin_ns + 1)));
    out_.left_out += !wanted;
    return wanted;
  }
  void add(std::vector<Slice>& to, i64 begin_ns, i64 dur_ns, u32 name, u32 source, SliceKind kind) {
    Slice slice{begin_ns, std::max<i64>(dur_ns, 0), name, source, kind};
    if (is_wanted(slice)) to.push_back(slice);
  }

  void add_host() {
    host_.resize(model_.threads.size());
    std::vector<SliceKind> stretches(model_.stretches.empty() ? 0 : model_.events.size(), SliceKind::step);
    for (const Stretch& s : model_.stretches) stretches[s.event] = kind_of(s.kind);
    for (u32 i = 0; i < model_.events.size(); i++) {
      const Event& e = model_.events[i];
      bool stretch = !stretches.empty() && stretches[i] != SliceKind::step;
      add(host_[e.thread].slices, e.begin_ns, e.dur_ns, e.name, i, stretch ? stretches[i] : kind_of(e));
    }
    for (Gathered& one : host_) one.events = one.slices.size();
    for (u32 i = 0; i < model_.calls.size(); i++) {
      const CallEvent& c = model_.calls[i];
      add(host_[c.thread].slices, c.begin_ns, c.dur_ns, c.name, i, kind_of(model_, c));
    }
    for (size_t i = 0; i < host_.size(); i++) describe(host_[i].track, model_.threads[i]);
  }

  void describe(Track& track, const TraceThread& thread) {
    track.kind = thread.is_lane() ? TrackKind::lane : TrackKind::thread;
    track.thread = thread.owner;
    track.group = "host";
    track.key = std::string(thread.is_lane() ? "lane/" : "thread/") + std::to_string(thread.tid);
    track.title = "thread " + std::to_string(thread.owner);
    if (!thread.name.empty()) track.title += " (" + thread.name + ")";
  }

  void add_gpu() {
    for (u32 i = 0; i < model_.gpu.size(); i++) {
      const GpuEvent& e = model_.gpu[i];
      SliceKind kind = kind_of(e);
      Gathered& one = kind == SliceKind::overhead ? overhead(e) : stream(e, kind == SliceKind::sync);
      add(one.slices, e.begin_ns, e.dur_ns, e.name, i, kind);
    }
  }

  Gathered& overhead(const GpuEvent& e) {
    const auto& info = e.as<OverheadInfo>();
    i64 thread = info.object_kind == kObjectThread ? i64(info.object) : 0;
    Gathered& one = gpu_[{true, 0, false, thread}];
    if (one.track.key.empty()) {
      one.track = {TrackKind::overhead, thread ? thread : -1, "overhead/" + std::to_string(thread), "overhead",
                   thread ? "overhead of thread " + std::to_string(thread) : "overhead"};
    }
    return one;
  }

  Gathered& stream(const GpuEvent& e, bool sync) {
    i64 stream = e.stream == kNone ? -1 : i64(e.stream);
    Gathered& one = gpu_[{false, e.device, sync, stream}];
    if (one.track.key.empty()) {
      std::string gpu = std::to_string(e.device), number = stream < 0 ? "none" : std::to_string(stream);
      one.track = {sync ? TrackKind::sync : TrackKind::stream, -1,
                   "gpu/" + gpu + (sync ? "/sync/" : "/stream/") + number, "gpu " + gpu,
                   stream < 0 ? sync ? "waits for the device" : "no stream"
                              : (sync ? "waits for stream " : "stream ") + number};
    }
    return one;
  }

  // By start, longer ones first, events before calls: those around others come before them.
  static void sort(Gathered& one) {
    auto less = [](const Slice& a, const Slice& b) {
      return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.dur_ns > b.dur_ns;
    };
    auto calls = one.slices.begin() + i64(one.events);
    if (std::is_sorted(one.slices.begin(), calls, less) && std::is_sorted(calls, one.slices.end(), less))
      std::inplace_merge(one.slices.begin(), calls, one.slices.end(), less);
    else
      std::stable_sort(one.slices.begin(), one.slices.end(), less);
  }

  // Appends the slices of a track, row by row.
  void put(Gathered& one) {
    if (one.slices.empty()) return;
    sort(one);
    Track& track = one.track;
    Rows rows;
    std::vector<u32> row_of(one.slices.size());
    i64 busy_until = INT64_MIN;
    track.first_ns = one.slices.front().begin_ns;
    track.last_ns = INT64_MIN;
    for (size_t i = 0; i < one.slices.size(); i++) {
      const Slice& slice = one.slices[i];
      row_of[i] = u32(rows.place(slice));
      if (row_of[i] == track.rows.size()) track.rows.push_back({0, 0});
      track.rows[row_of[i]].n++;
      track.busy_ns += std::max<i64>(0, slice.end_ns() - std::max(slice.begin_ns, busy_until));
      busy_until = std::max(busy_until, slice.end_ns());
    }
    track.last_ns = busy_until;
    track.slices = one.slices.size();
    size_t first = out_.slices.size();
    std::vector<size_t> next;
    for (TrackRow& row : track.rows) {
      row.first = first;
      next.push_back(first);
      first += row.n;
    }
    out_.slices.resize(first);
    for (size_t i = 0; i < one.slices.size(); i++) {
      size_t at = next[row_of[i]]++;
      out_.slices[at] = one.slices[i];
      std::vector<u32>& index = one.slices[i].is_event() ? of_event_ : one.slices[i].is_call() ? of_call_ : of_gpu_;
      if (!index.empty()) index[one.slices[i].source] = u32(at);
    }
    out_.tracks.push_back(std::move(track));
    one = {};
  }

  void add_flows() {
    for (u32 i = 0; i < model_.gpu.size(); i++) {
      const GpuEvent& e = model_.gpu[i];
      if (e.call == kNone || !e.runs_on_gpu()) continue;
      add_flow(out_.launch, of_call_[e.call], of_gpu_[i]);
    }
    for (const ForwardBackward& pair : model_.pairs)
      add_flow(out_.backward, of_event_[pair.forward], of_event_[pair.backward]);
    for (std::vector<SliceFlow>* flows : {&out_.launch, &out_.backward}) sort_if_needed(*flows, std::less<SliceFlow>());
  }
  static void add_flow(std::vector<SliceFlow>& to, u32 from, u32 into) {
    if (from != kNone && into != kNone) to.push_back({from, into});
  }

  const Model& model_;
  const TrackChoice choice_;
  Tracks out_;
  std::vector<Gathered> host_;                                // by thread of the Model
  std::map<std::tuple<bool, u32, bool, i64>, Gathered> gpu_;  // by overhead?, device, sync?, stream or thread
  std::vector<u32> of_event_, of_call_, of_gpu_;              // slices
};

}  // namespace

const char* name_of(SliceKind kind) {
  static constexpr const char* kNames[] = {
#define SLICE_KIND(kind, name, category) name,
#include "analysis/tables/slice_kinds.def"
#undef SLICE_KIND
  };
  return kNames[size_t(kind)];
}

const char* name_of(TrackKind kind) {
  static constexpr const char* kNames[] = {"thread", "lane", "stream", "sync", "overhead"};
  return kNames[size_t(kind)];
}

Tracks tracks_of(const Model& model, const TrackChoice& choice) { return Builder(model, choice).build(); }

}  // namespace tprof
