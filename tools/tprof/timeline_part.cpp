#include "timeline_part.h"

#include <algorithm>

#include "report/timeline.h"
#include "report/track_tables.h"

namespace tprof {
namespace {

// The first step, one of median length and the slowest.
IntervalSet chosen_steps(const Windows& windows) {
  std::vector<Interval> by_length = windows.steps;
  std::stable_sort(by_length.begin(), by_length.end(),
                   [](const Interval& a, const Interval& b) { return a.length() < b.length(); });
  return IntervalSet({windows.steps.front(), by_length[by_length.size() / 2], by_length.back()});
}

struct Level {
  const char* without;  // "": everything is in it
  bool functions, all_steps;
};
constexpr Level kLevels[] = {
    {"", true, true},
    {"those of Python functions", false, true},
    {"those of Python functions, and all outside the first step, one of median length and the slowest one", false,
     false},
};

std::string sentence(size_t left_out, size_t all, const std::string& which) {
  return "Timeline: " + std::to_string(left_out) + " of " + std::to_string(all) + " slices are not in this page (" +
         which + "), which would be larger than --max-size; a larger --max-size shows them, and so does the trace in " +
         "Perfetto. Sums, tables and tracks are of all slices";
}

}  // namespace

Json add_timeline(Page& page, const StatsSubject& subject, u64 most) {
  const Model& model = subject.model;
  const size_t all = subject.tracks().slices.size();
  Json out = {{"slices", 0},
              {"all", all},
              {"first_us", model.empty() ? Json() : Json(double(first_moment(model) - model.begin_ns) / 1000)},
              {"start_ns", model.base_time_ns ? Json(std::to_string(model.begin_realtime_ns())) : Json()},
              {"left_out", Json::array()}};
  Json& left_out = out["left_out"];
  if (std::string unknown = unknown_events(model); !unknown.empty()) left_out.push_back(std::move(unknown));
  for (const Level& level : kLevels) {
    if (!level.all_steps && subject.windows().steps.size() <= 3) continue;
    IntervalSet steps = level.all_steps ? IntervalSet() : chosen_steps(subject.windows());
    Tracks part;
    bool whole = level.functions && level.all_steps;
    if (!whole) part = tracks_of(model, {level.functions, level.all_steps ? nullptr : &steps});
    if (!whole && part.slices.size() == all) continue;
    const Tracks& tracks = whole ? subject.tracks() : part;
    size_t group = page.new_group();
    Json columns;
    for (TimelineColumn& column : packed_timeline(model, tracks, subject.counters()))
      columns[column.name] =
          page.add(std::move(column.bytes), Page::Keep::if_it_fits, std::string("timeline: ") + column.name, group);
    if (page.bytes_of(group) > most) {
      page.take_back(group);
      continue;
    }
    out["slices"] = tracks.slices.size();
    if (!whole) left_out.push_back(sentence(tracks.left_out, all, level.without));
    out["columns"] = std::move(columns);
    return out;
  }
  left_out.push_back(sentence(all, all, "all of them"));
  return out;
}

}  // namespace tprof
