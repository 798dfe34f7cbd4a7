// `tprof merge`: the traces of a job as one timeline, on one clock as far as collectives show how clocks differ.
#include <math.h>
#include <stdio.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "analysis/ranks/clocks.h"
#include "base/error.h"
#include "base/printable.h"
#include "cli/progress.h"
#include "command.h"
#include "exit_codes.h"
#include "input/inputs.h"
#include "json/json.h"
#include "kineto/read/directory.h"
#include "kineto/write/merge.h"
#include "report/table.h"

namespace tprof {
namespace {

namespace fs = std::filesystem;
struct MergeArguments {
  std::vector<std::string> paths;
  std::string out;
  bool json = false;
};

// The ranks of the job, and the traces of each.
struct RankTracks {
  std::vector<Rank> ranks;
  std::vector<std::vector<kineto::MergePart>> parts;  // by rank
  size_t left_out = 0;                                // processes that are no ranks
};

void append(Rank& to, Rank&& more) {
  std::move(more.calls.begin(), more.calls.end(), std::back_inserter(to.calls));
  std::move(more.steps.begin(), more.steps.end(), std::back_inserter(to.steps));
  to.has_steps &= more.has_steps;
}

RankTracks read_tracks(Inputs& inputs, int& code) {
  std::map<std::string, std::pair<Rank, std::vector<kineto::MergePart>>> found;  // by worker
  std::set<std::string> runs;
  code = inputs.each(false, [&](const Input& input, const Model& model, const PluginTrace&) {
    Rank rank = rank_of(model, input.worker);
    runs.insert(input.run);
    kineto::MergePart part{input.path};
    part.pid = model.pid;
    part.base_ns = i64(model.base_time_ns);
    part.begin_ns = model.empty() ? model.begin_ns : std::min(model.begin_ns, first_moment(model));
    auto [at, added] = found.try_emplace(input.worker);
    if (added)
      at->second.first = std::move(rank);
    else
      append(at->second.first, std::move(rank));
    at->second.second.push_back(std::move(part));
  });
  if (runs.size() > 1)
    throw Error(Fault::usage, "the traces are of several runs (" + *runs.begin() + ", " + *std::next(runs.begin()) +
                                  (runs.size() > 2 ? " ..." : "") + "); give the directory of one");
  RankTracks out;
  for (auto& [worker, one] : found) out.ranks.push_back(std::move(one.first));
  out.left_out = keep_ranks(out.ranks);
  for (const Rank& rank : out.ranks) out.parts.push_back(std::move(found[rank.worker].second));
  return out;
}

std::string name_of(const Rank& rank, bool alone) {
  std::string name = rank.text();
  if (rank.number < 0 && !rank.host.empty()) name += " (" + rank.host + ")";
  return alone ? name : name + ", pid " + std::to_string(rank.pid);
}

std::vector<std::string> names_of(const std::vector<Rank>& ranks) {
  std::map<std::string, u32> times;
  for (const Rank& rank : ranks) times[name_of(rank, true)]++;
  std::vector<std::string> out;
  for (const Rank& rank : ranks) out.push_back(name_of(rank, times[name_of(rank, true)] == 1));
  return out;
}

// What is done with the times of a clock's ranks, and how far that can be trusted.
std::string clock_line(const Clocks& clocks, u32 index) {
  const Clock& clock = clocks.clocks[index];
  if (index == 0) return "";
  if (!clock.known)
    return "no collective tells how its clock differs; its times stay as they are, and have no order with those of "
           "others";
  auto text = [](i64 ns) { return time_text(ns); };
  std::string error = " (error " + text(clock.error_ns()) + ", " + std::to_string(clock.collectives) + " collectives)";
  std::string order = "; events of it and of others that are nearer than the error have no order";
  std::string drift = clock.drifts ? "; the clocks drift apart" : "";
  if (!clock.differs())
    return "its clock is the same within the error" + error + ", and its times stay as they are" + drift + order;
  bool ahead = clock.offset_ns > 0;
  return "its clock is " + text(ahead ? clock.offset_ns : -clock.offset_ns) + (ahead ? " ahead" : " behind") + error +
         ", and its times are moved by that" + drift + order;
}

Json clock_json(const Clock& clock, const std::vector<std::string>& names, const std::string& line) {
  auto us = [](i64 ns) { return double(ns) / 1e3; };
  Json out = {{"host", clock.host}, {"tracks", Json::array()}, {"known", clock.known}};
  for (u32 r : clock.ranks) out["tracks"].push_back(names[r]);
  bool compared = clock.known && clock.collectives;
  out["collectives"] = clock.collectives;
  out["ahead_us"] = clock.known ? Json(us(clock.offset_ns)) : Json();
  out["error_us"] = clock.known ? Json(us(clock.error_ns())) : Json();
  out["quartiles_us"] = compared ? Json({us(clock.lower_quartile_ns), us(clock.upper_quartile_ns)}) : Json();
  out["moved_by_us"] = us(clock.differs() ? -clock.offset_ns : 0);
  if (!line.empty()) out["text"] = line;
  return out;
}

Json about(const RankTracks& tracks, const Clocks& clocks, const std::vector<std::string>& names) {
  Json out = {{"schema", 1}, {"tracks", Json::array()}, {"clocks", Json::array()}};
  for (u32 r = 0; r < tracks.ranks.size(); r++) {
    const Rank& rank = tracks.ranks[r];
    Json files = Json::array();
    for (const kineto::MergePart& part : tracks.parts[r]) files.push_back(fs::path(part.path).filename().string());
    // No key "rank": HTA takes the first one of the file for the trace's.
    out["tracks"].push_back({{"name", names[r]},
                             {"number", rank.number < 0 ? Json() : Json(rank.number)},
                             {"worker", rank.worker},
                             {"host", rank.host},
                             {"clock", clocks.of_rank[r]},
                             {"files", files}});
  }
  for (u32 c = 0; c < clocks.clocks.size(); c++)
    out["clocks"].push_back(clock_json(clocks.clocks[c], names, clock_line(clocks, c)));
  return out;
}

int merge(const MergeArguments& arguments) {
  bool gzip = arguments.out.ends_with(".gz");
  if (std::error_code why; fs::exists(arguments.out, why) && !kineto::is_merged(arguments.out))
    throw Error(Fault::usage, arguments.out + ": exists, and is no timeline of tprof merge; it is not overwritten");
  int code = kExitOk;
  Inputs inputs(arguments.paths);
  RankTracks tracks = read_tracks(inputs, code);
  if (code == kExitUnreadable) return code;
  Clocks clocks = clocks_of(tracks.ranks);
  std::vector<std::string> names = names_of(tracks.ranks);
  std::vector<kineto::MergePart> parts;
  for (u32 r = 0; r < tracks.ranks.size(); r++)
    for (kineto::MergePart& part : tracks.parts[r]) {
      part.track = r;
      part.name = names[r];
      part.label = clock_line(clocks, clocks.of_rank[r]);
      part.shift_ns = clocks.shift_ns(r);
      parts.push_back(part);
    }
  Json all = about(tracks, clocks, names);
  kineto::MergeResult result;
  {
    Progress progress("writing " + fs::path(arguments.out).filename().string(), Progress::Counts::written);
    result = kineto::merge_traces(parts, all, arguments.out, gzip);
  }
  for (const Clock& clock : clocks.clocks)
    if (!clock.known) code = kExitPartial;
  if (result.left_out) code = kExitPartial;
  if (arguments.json) {
    all["file"] = arguments.out;
    all["events"] = result.events;
    all["left_out"] = result.left_out;
    print(stdout, json_indented(all) + "\n");
    return code;
  }
  auto say = [](const std::string& line) { print(stdout, printable(line) + "\n"); };
  say(arguments.out + ": " + std::to_string(names.size()) + (names.size() == 1 ? " track, " : " tracks, ") +
      std::to_string(result.events) + " events");
  for (u32 c = 1; c < clocks.clocks.size(); c++) {
    const Clock& clock = clocks.clocks[c];
    std::string who = names[clock.ranks[0]];
    if (clock.ranks.size() > 1) who += " and " + std::to_string(clock.ranks.size() - 1) + " more of its machine";
    say(who + ": " + clock_line(clocks, c));
  }
  if (tracks.left_out) say(std::to_string(tracks.left_out) + " processes that are no ranks of the job were left out");
  if (result.left_out) say(std::to_string(result.left_out) + " events are not JSON and were left out");
  return code;
}

}  // namespace

Action declare_merge(Arguments& arguments) {
  auto a = std::make_shared<MergeArguments>();
  arguments.value("--output", "-o", "FILE", "where to write the timeline, such as all.json.gz (.gz: compressed)",
                  a->out);
  arguments.toggle("--json", "", "print what was merged, and how the clocks differ, as JSON", a->json);
  arguments.operands("PATH", "the log directory of one run, or its traces", 1, 0, a->paths);
  return [a] {
    if (a->out.empty()) throw Error(Fault::usage, "--output FILE is missing");
    if (!kineto::ends_as_json(a->out))
      throw Error(Fault::usage, "--output '" + a->out + "' is not *.json or *.json.gz");
    return merge(*a);
  };
}

}  // namespace tprof
