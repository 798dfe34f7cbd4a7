#include "export/speedscope.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "analysis/basis/frame_text.h"
#include "analysis/tables/tracks.h"
#include "analysis/time/python_samples.h"
#include "base/error.h"
#include "json/json.h"

namespace tprof {
namespace {

constexpr char kSchema[] = "https://www.speedscope.app/file-format-schema.json";

// How the name of a slice or frame is to be read.
enum class NameOf : u8 { range, python, native, nothing };

// The table of frames, which the profiles point into.
class Frames {
 public:
  explicit Frames(const Model& model) : model_(model) {}

  u32 operator()(u32 name, NameOf what) {
    auto [at, added] = index_.try_emplace(u64(name) << 8 | u64(what), u32(texts_.size()));
    if (added) texts_.push_back(text_of(name, what));
    return at->second;
  }
  void put(kineto::OutputFile& out) const {
    for (size_t i = 0; i < texts_.size(); i++) {
      out.put(i ? ",\n" : "\n");
      out.put(texts_[i]);
    }
  }

 private:
  std::string text_of(u32 name, NameOf what) const {
    if (what == NameOf::nothing) return json_ascii({{"name", "(stack not recorded)"}});
    if (what == NameOf::range) return json_ascii({{"name", model_.names[name]}});
    FramePlace place = place_of_frame(model_.names[name], what == NameOf::native);
    Json frame = {{"name", place.function}};
    if (!place.file.empty()) frame["file"] = place.file;
    if (place.line >= 0) frame["line"] = place.line;
    return json_ascii(frame);
  }

  const Model& model_;
  std::unordered_map<u64, u32> index_;  // by name and how it is read
  std::vector<std::string> texts_;
};

// Ranges that nest.
struct Nested {
  std::vector<u32> slices;  // indices into Tracks::slices, a range before those in it
  std::vector<i64> open;    // ends, innermost last

  bool takes(const Slice& slice) {
    while (!open.empty() && open.back() <= slice.begin_ns) open.pop_back();
    return open.empty() || slice.end_ns() <= open.back();
  }
  void add(u32 index, const Slice& slice) {
    slices.push_back(index);
    open.push_back(slice.end_ns());
  }
};

class SpeedscopeWriter {
 public:
  SpeedscopeWriter(const Model& model, kineto::OutputFile& out)
      : model_(model), tracks_(tracks_of(model)), out_(out), frames_(model) {
    bool any = false;
    auto widen = [&](i64 begin, i64 end) {
      begin_ns_ = any ? std::min(begin_ns_, begin) : begin;
      end_ns_ = any ? std::max(end_ns_, end) : end;
      any = true;
    };
    for (const Track& track : tracks_.tracks) widen(track.first_ns, track.last_ns);
    if (!any && model.samples.empty()) throw Error(Fault::unreadable, "holds no range and no sample");
    widen(model.begin_ns, model.end_ns);
    counts_.instants = model.marks.size();
  }

  SpeedscopeCounts write(const std::string& name) {
    out_.put("{\"$schema\": \"");
    out_.put(kSchema);
    out_.put("\", \"exporter\": \"tprof " TPROF_VERSION "\", \"name\": ");
    out_.put(json_ascii(name));
    out_.put(",\n\"profiles\": [");
    for (const Track& track : tracks_.tracks) put_track(track);
    put_samples();
    out_.put("\n], \"activeProfileIndex\": ");
    out_.put_number(active_);
    out_.put(",\n\"shared\": {\"frames\": [");
    frames_.put(out_);
    out_.put("\n]}}\n");
    return counts_;
  }

 private:
  void put_track(const Track& track) {
    std::vector<u32> order;
    for (const TrackRow& row : track.rows)
      for (size_t i = row.first; i < row.first + row.n; i++) order.push_back(u32(i));
    std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) {
      const Slice &one = tracks_.slices[a], &other = tracks_.slices[b];
      return one.begin_ns != other.begin_ns ? one.begin_ns < other.begin_ns : one.dur_ns > other.dur_ns;
    });
    std::vector<Nested> profiles;
    for (u32 index : order) {
      const Slice& slice = tracks_.slices[index];
      auto fits = std::find_if(profiles.begin(), profiles.end(), [&](Nested& p) { return p.takes(slice); });
      if (fits == profiles.end() && profiles.size() == kMostProfiles) {
        counts_.crossing++;
        continue;
      }
      if (fits == profiles.end()) fits = profiles.emplace(fits);
      fits->add(index, slice);
    }
    std::string title = track.group == "host" ? track.title : track.group + ", " + track.title;
    for (size_t i = 0; i < profiles.size(); i++)
      put_ranges(i ? title + ", crossing ranges " + std::to_string(i) : title, profiles[i].slices);
  }

  void put_ranges(const std::string& name, const std::vector<u32>& indices) {
    if (indices.size() > most_ranges_) {
      most_ranges_ = indices.size();
      active_ = counts_.profiles;
    }
    begin_profile("evented", name, "nanoseconds");
    out_.put(", \"endValue\": ");
    out_.put_number(end_ns_ - begin_ns_);
    out_.put(", \"events\": [");
    const char* comma = "\n";
    std::vector<u32> open;
    auto put_event = [&](char type, u32 index, i64 at) {
      const Slice& slice = tracks_.slices[index];
      out_.put(comma);
      comma = ",\n";
      out_.put("{\"type\": \"");
      out_.put(type);
      out_.put("\", \"frame\": ");
      out_.put_number(frames_(slice.name, slice.kind == SliceKind::python ? NameOf::python : NameOf::range));
      out_.put(", \"at\": ");
      out_.put_number(at - begin_ns_);
      out_.put('}');
    };
    auto close_until = [&](i64 ns) {
      for (; !open.empty() && tracks_.slices[open.back()].end_ns() <= ns; open.pop_back())
        put_event('C', open.back(), tracks_.slices[open.back()].end_ns());
    };
    for (u32 index : indices) {
      close_until(tracks_.slices[index].begin_ns);
      put_event('O', index, tracks_.slices[index].begin_ns);
      open.push_back(index);
    }
    close_until(INT64_MAX);
    out_.put("]}");
    counts_.ranges += indices.size();
  }

  void put_samples() {
    std::map<u32, std::vector<const StackSample*>> threads;
    for (const StackSample& sample : model_.samples) threads[sample.thread].push_back(&sample);
    i64 period_ns = std::llround(sample_period_ns(model_.sampled));
    for (const auto& [thread, samples] : threads) put_samples_of(model_.threads[thread], samples, period_ns);
  }

  // `period_ns` 0: not known; samples are then counted, without a unit.
  void put_samples_of(const TraceThread& thread, const std::vector<const StackSample*>& samples, i64 period_ns) {
    std::string name = "samples of thread " + std::to_string(thread.owner);
    if (!thread.name.empty()) name += " (" + thread.name + ")";
    i64 weight = period_ns ? period_ns : 1;
    begin_profile("sampled", name, period_ns ? "nanoseconds" : "none");
    out_.put(", \"endValue\": ");
    out_.put_number(weight * i64(samples.size()));
    out_.put(", \"samples\": [");
    for (size_t i = 0; i < samples.size(); i++) {
      out_.put(i ? ",\n[" : "\n[");
      put_stack(samples[i]->stack);
      out_.put(']');
    }
    out_.put("], \"weights\": [");
    for (size_t i = 0; i < samples.size(); i++) {
      if (i) out_.put(',');
      out_.put_number(weight);
    }
    out_.put("]}");
    counts_.samples += samples.size();
  }

  // Outermost frame first.
  void put_stack(u32 innermost) {
    if (innermost == 0) return out_.put_number(frames_(0, NameOf::nothing));
    std::vector<u32> frames;
    for (u32 at = innermost; at; at = model_.stacks[at].parent) frames.push_back(at);
    for (size_t i = frames.size(); i-- > 0;) {
      const StackFrame& frame = model_.stacks[frames[i]];
      out_.put_number(frames_(frame.text, frame.native ? NameOf::native : NameOf::python));
      if (i) out_.put(',');
    }
  }

  void begin_profile(const char* type, const std::string& name, const char* unit) {
    out_.put(counts_.profiles++ ? ",\n" : "\n");
    out_.put("{\"type\": \"");
    out_.put(type);
    out_.put("\", \"name\": ");
    out_.put(json_ascii(name));
    out_.put(", \"unit\": \"");
    out_.put(unit);
    out_.put("\", \"startValue\": 0");
  }

  const Model& model_;
  const Tracks tracks_;
  kineto::OutputFile& out_;
  Frames frames_;
  SpeedscopeCounts counts_;
  i64 begin_ns_ = 0, end_ns_ = 0;
  size_t most_ranges_ = 0;
  u64 active_ = 0;  // the profile that speedscope shows first: the one with most ranges
};

}  // namespace

SpeedscopeCounts write_speedscope(const Model& model, const std::string& name, kineto::OutputFile& out) {
  return SpeedscopeWriter(model, out).write(name);
}

}  // namespace tprof
