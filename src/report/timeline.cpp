#include "report/timeline.h"

#include <string.h>

#include <cmath>
#include <unordered_map>

#include "json/json.h"
#include "report/guesser.h"
#include "report/timeline_args.h"
#include "report/track_tables.h"

namespace tprof {
namespace {

constexpr double kLargestWhole = double(i64(1) << 50);

std::string json_text(const Json& json) {
  std::string text = json_line(json), out;
  put_varint(out, text.size());
  return out + text;
}

// Moments may be further apart than a double can tell zigzags apart.
void put_signed(std::string& out, i64 value) {
  put_varint(out, value < 0);
  put_varint(out, value < 0 ? 0 - u64(value) : u64(value));
}

// Calls use(slice, entry, before) for each slice, where `before` is the number that use() returned for the slice before
// it in its row, 0 for the first.
template <class Use>
void in_rows(const Tracks& tracks, const std::vector<u32>& entries, Use use) {
  for (const Track& track : tracks.tracks)
    for (const TrackRow& row : track.rows) {
      u32 before = 0;
      for (size_t i = row.first; i < row.first + row.n; i++) before = use(tracks.slices[i], entries[i], before);
    }
}

class TimelinePacker {
 public:
  TimelinePacker(const Model& model, const Tracks& tracks) : model_(model), tracks_(tracks) {}

  std::vector<TimelineColumn> columns(const std::vector<Counter>& counters) {
    find_entries();
    put("head", json_text(head()));
    put("entry", entry_column());
    put_times();
    put("launch", arrows(tracks_.launch));
    put("backward", arrows(tracks_.backward));
    put("counters", counters_column(counters));
    put_arguments();
    put_stacks();
    return std::move(columns_);
  }

 private:
  void put(const char* name, std::string bytes) { columns_.push_back({name, std::move(bytes)}); }

  void find_entries() {
    std::unordered_map<u64, u32> numbers;
    entries_.reserve(tracks_.slices.size());
    for (const Slice& s : tracks_.slices) {
      auto [at, is_new] = numbers.try_emplace(u64(s.name) << 8 | u64(s.kind), u32(said_.size()));
      if (is_new) said_.push_back({model_.names[s.name], name_of(s.kind)});
      entries_.push_back(at->second);
    }
  }

  Json head() const {
    Json tracks = Json::array();
    for (const Track& t : tracks_.tracks) {
      Json rows = Json::array();
      for (const TrackRow& row : t.rows) rows.push_back(row.n);
      tracks.push_back({{"key", t.key},
                        {"kind", name_of(t.kind)},
                        {"group", t.group},
                        {"title", t.title},
                        {"thread", t.thread},
                        {"rows", rows}});
    }
    return {{"n", tracks_.slices.size()}, {"tracks", tracks}, {"entries", said_}};
  }

  std::string entry_column() const {
    Guesser out;
    u32 second = 0;
    in_rows(tracks_, entries_, [&](const Slice&, u32 entry, u32 before) {
      out.put(entry, before, second);
      second = before;
      return entry + 1;
    });
    return std::move(out).bytes();
  }

  void put_times() {
    std::string begin, duration;
    for (const Track& track : tracks_.tracks)
      for (const TrackRow& row : track.rows) {
        u64 end = 0;
        for (size_t i = row.first; i < row.first + row.n; i++) {
          const Slice& s = tracks_.slices[i];
          u64 at = u64(s.begin_ns) - u64(model_.begin_ns);
          i == row.first ? put_signed(begin, i64(at)) : put_varint(begin, at - end);
          put_varint(duration, u64(s.dur_ns));
          end = at + u64(s.dur_ns);
        }
      }
    put("begin", std::move(begin));
    put("duration", std::move(duration));
  }

  static std::string arrows(const std::vector<SliceFlow>& flows) {
    std::string out = json_text(Json::array({flows.size()}));
    SliceFlow last{0, 0};
    for (const SliceFlow& flow : flows) {
      put_varint(out, flow.from - last.from);
      put_varint(out, zigzag(i64(flow.to) - i64(last.to)));
      last = flow;
    }
    return out;
  }

  std::string counters_column(const std::vector<Counter>& counters) const {
    Json said = Json::array();
    std::string bytes;
    for (const Counter& c : counters) {
      bool whole = std::all_of(c.points.begin(), c.points.end(), [](const CounterPoint& p) {
        return std::isnan(p.value) || (std::fabs(p.value) <= kLargestWhole && std::trunc(p.value) == p.value);
      });
      said.push_back({{"key", c.key},
                      {"group", c.group},
                      {"title", c.title},
                      {"unit", name_of(c.unit)},
                      {"points", c.points.size()},
                      {"as", whole ? "whole" : "double"}});
      for (size_t i = 0; i < c.points.size(); i++) {
        i64 ns = c.points[i].ns;
        i ? put_varint(bytes, u64(ns - c.points[i - 1].ns)) : put_signed(bytes, ns - model_.begin_ns);
      }
      whole ? put_whole(bytes, c.points) : put_doubles(bytes, c.points);
    }
    return json_text(said) + bytes;
  }
  static void put_whole(std::string& out, const std::vector<CounterPoint>& points) {
    i64 last = 0;
    for (const CounterPoint& p : points) {
      put_varint(out, std::isnan(p.value) ? 0 : zigzag(i64(p.value) - last) + 1);
      if (!std::isnan(p.value)) last = i64(p.value);
    }
  }
  static void put_doubles(std::string& out, const std::vector<CounterPoint>& points) {
    for (const CounterPoint& p : points) {
      u64 bits;
      memcpy(&bits, &p.value, sizeof bits);
      for (int i = 0; i < 8; i++) out += static_cast<char>(bits >> 8 * i);
    }
  }

  void put_arguments() {
    TimelineArguments arguments(model_);
    Guesser out;
    in_rows(tracks_, entries_, [&](const Slice& s, u32 entry, u32 before) {
      u32 set = arguments.add(s);
      out.put(set, entry, before);
      return set;
    });
    put("sets", json_text(arguments.head()) + arguments.sets());
    put("set", std::move(out).bytes());
    put("numbers", arguments.numbers());
  }

  void put_stacks() {
    number_.assign(model_.stacks.size(), 0);
    for (const Slice& s : tracks_.slices)
      for (u32 frame = stack_of(s); frame && !number_[frame]; frame = model_.stacks[frame].parent) number_[frame] = 1;
    Json texts = Json::array();
    std::unordered_map<u32, u32> text_number;
    std::string tree;
    u32 frames = 0;
    for (u32 frame = 1; frame < number_.size(); frame++) {  // a frame follows its caller
      if (!number_[frame]) continue;
      number_[frame] = ++frames;
      const StackFrame& said = model_.stacks[frame];
      put_varint(tree, said.parent ? frames - number_[said.parent] : 0);
      auto [at, is_new] = text_number.try_emplace(said.text, u32(texts.size()));
      if (is_new) texts.push_back(model_.names[said.text]);
      put_varint(tree, at->second);
    }
    std::string head = json_text({{"texts", texts}});
    put_varint(head, frames);
    put("frames", head + tree);
    Guesser out;
    in_rows(tracks_, entries_, [&](const Slice& s, u32 entry, u32 before) {
      u32 stack = number_.empty() ? 0 : number_[stack_of(s)];
      out.put(stack, entry, before);
      return stack;
    });
    put("stack", std::move(out).bytes());
  }

  u32 stack_of(const Slice& s) const {
    return s.is_event() ? model_.events[s.source].stack : s.is_call() ? model_.calls[s.source].stack : 0;
  }

  const Model& model_;
  const Tracks& tracks_;
  std::vector<TimelineColumn> columns_;
  std::vector<u32> entries_;  // of each slice
  Json said_ = Json::array();
  std::vector<u32> number_;  // of each frame of the Model that a slice has, from 1
};

}  // namespace

std::vector<TimelineColumn> packed_timeline(const Model& model, const Tracks& tracks,
                                            const std::vector<Counter>& counters) {
  return TimelinePacker(model, tracks).columns(counters);
}

}  // namespace tprof
