#include "report/track_tables.h"

#include "kineto/names.h"
#include "report/columns.h"

namespace tprof {

std::string unknown_events(const Model& model) {
  constexpr size_t kNamed = 5;  // kinds
  std::string out;
  u64 others = 0;
  size_t kinds = 0;
  for (const auto& [kind, count] : model.ledger.left_out) {
    if (kind == kineto::kGpuUserAnnotation) continue;
    if (kinds++ < kNamed)
      out += (out.empty() ? "Not on the timeline, since tprof does not know what they are: " : ", ") +
             std::to_string(count) + " of " + kind;
    else
      others += count;
  }
  return others ? out + ", and " + std::to_string(others) + " others" : out;
}

Table tracks_table(const Model& model, const Tracks& tracks) {
  Columns<Track> c;
  auto from_begin = [&model](i64 ns) { return Value(ns - model.begin_ns); };
  c.add("key", "Track", Unit::text, 0, [](auto& t) { return t.key; });
  c.add("kind", "Kind", Unit::text, 3, [](auto& t) { return name_of(t.kind); });
  c.add("group", "Group", Unit::text, kDataOnly, [](auto& t) { return t.group; });
  c.add("title", "Title", Unit::text, 2, [](auto& t) { return t.title; });
  c.add("slices", "Slices", Unit::count, 0, [](auto& t) { return i64(t.slices); });
  c.add("busy", "Busy", Unit::time, 0, [](auto& t) { return t.busy_ns; });
  c.add("depth", "Rows", Unit::count, 1, [](auto& t) { return i64(t.rows.size()); });
  c.add("first_start", "First start", Unit::time, 1, [=](auto& t) { return from_begin(t.first_ns); });
  c.add("last_end", "Last end", Unit::time, 1, [=](auto& t) { return from_begin(t.last_ns); });
  Table out = c.table("Tracks of the timeline", tracks.tracks);
  out.footer.push_back("All: " + std::to_string(tracks.slices.size()) + " slices on " +
                       std::to_string(tracks.tracks.size()) + " tracks; busy: time in which a slice lies");
  if (std::string unknown = unknown_events(model); !unknown.empty()) out.footer.push_back(std::move(unknown));
  return out;
}

Table flows_table(const Tracks& tracks) {
  Table out{"Arrows between slices", {{"kind", "Kind", Unit::text}, {"count", "Count", Unit::count}}};
  out.rows.push_back({"launch", i64(tracks.launch.size())});
  out.rows.push_back({"backward", i64(tracks.backward.size())});
  out.footer.push_back("launch: from a call to what it started on a GPU; backward: from a forward operator");
  return out;
}

const char* name_of(CounterUnit unit) {
  return unit == CounterUnit::bytes ? "bytes" : unit == CounterUnit::percent ? "percent" : "count";
}

Table counters_table(const std::vector<Counter>& counters) {
  Columns<Counter> c;
  c.add("key", "Counter", Unit::text, 0, [](auto& counter) { return counter.key; });
  c.add("title", "Title", Unit::text, 1, [](auto& counter) { return counter.title; });
  c.add("unit", "Unit", Unit::text, 2, [](auto& counter) { return name_of(counter.unit); });
  c.add("points", "Points", Unit::count, 0, [](auto& counter) { return i64(counter.points.size()); });
  return c.table("Counters of the timeline", counters);
}

Table slices_table(const Model& model, const Tracks& tracks, const std::vector<SliceSum>& sums) {
  Columns<SliceSum> c;
  c.add("track", "Track", Unit::text, 0, [&](auto& s) { return tracks.tracks[s.track].key; });
  c.add("name", "Name", Unit::function, 0, [&](auto& s) { return model.names[s.name]; });
  c.add("category", "Category", Unit::text, 2, [](auto& s) { return name_of(s.kind); });
  c.add("count", "Count", Unit::count, 0, [](auto& s) { return i64(s.count); });
  c.add("total", "Total", Unit::time, 0, [](auto& s) { return s.total_ns; });
  c.add("self", "Self", Unit::time, 0, [](auto& s) { return s.self_ns; });
  c.add("average", "Average", Unit::time, 1, [](auto& s) { return s.total_ns / i64(s.count); });
  c.add("min", "Shortest", Unit::time, 1, [](auto& s) { return s.min_ns; });
  c.add("max", "Longest", Unit::time, 1, [](auto& s) { return s.max_ns; });
  Table out = c.table("Slices by track and name", sums);
  out.footer.push_back("Self: without the time in which a slice of a row below lies");
  return out;
}

}  // namespace tprof
