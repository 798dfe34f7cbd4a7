#include "input/facts.h"

#include <sys/stat.h>

#include <map>

#include "base/error.h"
#include "json/json.h"
#include "kineto/gzip.h"
#include "kineto/names.h"
#include "kineto/read/directory.h"
#include "kineto/write/output.h"

namespace tprof {
namespace {

constexpr char kSuffix[] = ".rank_facts";
constexpr size_t kLargest = 256 << 20;  // of the text

i64 size_of_file(const std::string& path) {
  struct stat s;
  return stat(path.c_str(), &s) == 0 ? i64(s.st_size) : -1;
}

// Texts that occur often, by number.
class Texts {
 public:
  size_t number(const std::string& text) {
    auto [at, added] = numbers_.try_emplace(text, texts_.size());
    if (added) texts_.push_back(text);
    return at->second;
  }
  Json json() const { return texts_; }

 private:
  std::map<std::string, size_t> numbers_;
  std::vector<std::string> texts_;
};

// The file may be damaged or anybody's: its numbers are taken only if what is computed of them cannot overflow. The
// parser makes what is not negative unsigned.
constexpr i64 kLongest = i64(1) << 55;  // ns, more than a year
constexpr i64 kMaxRanks = 1 << 24;

i64 within(const Json& value, i64 least, i64 most) {
  if (!value.is_integer() || (value.is_natural() ? value.natural() > u64(most) : value.integer() < least))
    throw Error(Fault::unreadable, "a number of the facts of a rank is out of range");
  return value.integer();
}
i64 length_of(const Json& value) { return within(value, 0, kLongest); }
i64 moment_of(const Json& value) { return within(value, -kLongest, kLongest); }
i64 count_of(const Json& value) { return within(value, -1, kLongest); }              // -1: not known
i32 rank_number_of(const Json& value) { return i32(within(value, -1, kMaxRanks)); }  // -1: not known

Json overlap_json(const Overlap& o) { return {o.computation_ns, o.overlap_ns, o.communication_ns, o.other_ns}; }
void take_overlap(const Json& from, Overlap& to) {
  to.computation_ns = moment_of(from.at(0)), to.overlap_ns = moment_of(from.at(1));
  to.communication_ns = moment_of(from.at(2)), to.other_ns = moment_of(from.at(3));
}

Json gpu_json(const GpuFigures& g) {
  return {g.device,      g.name,          g.name_is_empty, g.memory_bytes, g.compute_major,       g.compute_minor,
          g.utilization, g.sm_efficiency, g.occupancy,     g.tensor_cores, g.tensor_cores_unknown};
}
GpuFigures gpu_of(const Json& v) {
  GpuFigures g;
  g.device = u32(within(v.at(0), 0, UINT32_MAX)), g.name = v.at(1).text(), g.name_is_empty = v.at(2).boolean();
  g.memory_bytes = v.at(3).real(), g.compute_major = count_of(v.at(4)), g.compute_minor = count_of(v.at(5));
  g.utilization = v.at(6).real(), g.sm_efficiency = v.at(7).real(), g.occupancy = v.at(8).real();
  g.tensor_cores = v.at(9).real(), g.tensor_cores_unknown = v.at(10).real();
  return g;
}

// Times are relative to the first step.
Json json_of(const Rank& rank) {
  i64 base = rank.steps.empty() ? 0 : rank.steps[0].time.begin;
  Texts texts;
  Json steps = Json::array(), calls = Json::array(), gpus = Json::array();
  for (const RankStep& s : rank.steps)
    steps.push_back(
        {s.name, s.time.begin - base, s.time.length(), std::span<const i64>(s.stages), overlap_json(s.overlap)});
  for (const CollectiveCall& c : rank.calls)
    calls.push_back({texts.number(c.op), texts.number(c.group), texts.number(c.group_ranks), c.sequence, c.bytes,
                     c.ranks, c.peer, c.async, c.begin_ns - base, c.dur_ns, c.call_ns ? Json(c.call_ns - base) : Json(),
                     c.call_dur_ns, c.group_rank, c.call_only});
  for (const GpuFigures& g : rank.gpus) gpus.push_back(gpu_json(g));
  return {{"schema", 2},
          {"version", TPROF_VERSION},
          {"worker", rank.worker},
          {"number", rank.number},
          {"world_size", rank.world_size},
          {"recorded", rank.recorded},
          {"host", rank.host},
          {"boot", rank.boot},
          {"pid", rank.pid},
          {"on_gpu", rank.on_gpu},
          {"has_steps", rank.has_steps},
          {"span_ns", rank.span_ns},
          {"base_ns", base},
          {"overlap", overlap_json(rank)},
          {"operators", rank.work.operators},
          {"elements", rank.work.elements},
          {"gpus", gpus},
          {"steps", steps},
          {"calls", calls},
          {"texts", texts.json()}};
}

// Throws Error where a number is out of range, and JsonError where the form is another one.
Rank rank_from(const Json& json) {
  Rank rank;
  rank.worker = json.at("worker").text(), rank.host = json.at("host").text(), rank.boot = json.at("boot").text();
  rank.number = rank_number_of(json.at("number")), rank.world_size = rank_number_of(json.at("world_size"));
  rank.recorded = json.value("recorded", "");
  rank.pid = u32(within(json.at("pid"), 0, UINT32_MAX));
  rank.on_gpu = json.at("on_gpu").boolean(), rank.has_steps = json.at("has_steps").boolean();
  rank.span_ns = length_of(json.at("span_ns"));
  rank.work = {u64(length_of(json.at("operators"))), count_of(json.at("elements"))};
  take_overlap(json.at("overlap"), rank);
  i64 base = within(json.at("base_ns"), 0, i64(1) << 62);
  for (const Json& g : json.at("gpus")) rank.gpus.push_back(gpu_of(g));
  for (const Json& s : json.at("steps")) {
    i64 begin = base + moment_of(s.at(1));
    RankStep step{s.at(0).text(), {begin, begin + length_of(s.at(2))}, {}, {}};
    for (u32 stage = 0; stage < kStages; stage++) step.stages[stage] = moment_of(s.at(3).at(stage));
    take_overlap(s.at(4), step.overlap);
    rank.steps.push_back(std::move(step));
  }
  const Json& texts = json.at("texts");
  for (const Json& c : json.at("calls")) {
    CollectiveCall call;
    auto text = [&](size_t field) { return texts.at(size_t(length_of(c.at(field)))).text(); };
    call.op = text(0), call.group = text(1), call.group_ranks = text(2);
    call.sequence = count_of(c.at(3)), call.bytes = count_of(c.at(4));
    call.ranks = rank_number_of(c.at(5)), call.peer = rank_number_of(c.at(6));
    call.async = i8(within(c.at(7), -1, 1));
    call.begin_ns = base + moment_of(c.at(8)), call.dur_ns = length_of(c.at(9));
    if (!c.at(10).is_null()) call.call_ns = base + moment_of(c.at(10));
    call.call_dur_ns = length_of(c.at(11));
    call.group_rank = rank_number_of(c.at(12)), call.call_only = c.at(13).boolean();
    rank.calls.push_back(std::move(call));
  }
  return rank;
}

std::string text_of_file(const std::string& path) {
  kineto::GzipFile file = kineto::open_gzip(path);
  std::string text, block(64 << 10, 0);
  for (int n; (n = kineto::read_gzip(file, path, block.data(), block.size())) != 0;) {
    if (n < 0 || text.size() > kLargest) return "";
    text.append(block, 0, size_t(n));
  }
  return text;
}

}  // namespace

std::string facts_name(const std::string& trace) {
  for (const char* suffix : {kineto::kFileSuffixGz, kineto::kFileSuffix})
    if (trace.ends_with(suffix)) return trace.substr(0, trace.size() - std::string_view(suffix).size()) + kSuffix;
  return "";
}

void write_facts(const Model& model, const std::string& trace) {
  std::string path = facts_name(trace), worker, stamp;
  if (path.empty() || model.before_training || model.rank < 0) return;
  kineto::split_trace_name(trace.substr(trace.rfind('/') + 1), worker, stamp);
  Json facts = json_of(rank_of(model, worker));
  facts["trace_bytes"] = size_of_file(trace);
  kineto::OutputFile out(path, true);
  out.put(json_ascii(facts) + "\n");
  out.finish();
}

void try_to_write_facts(const Model& model, const std::string& trace) {
  try {
    write_facts(model, trace);
  } catch (const Error&) {
  }
}

std::optional<Rank> read_facts(const std::string& trace) try {
  std::string path = facts_name(trace);
  if (path.empty() || size_of_file(path) < 0) return {};
  Json facts = bounded_json(text_of_file(path));
  if (!facts.is_object() || facts.at("schema") != 2 || facts.at("trace_bytes") != size_of_file(trace)) return {};
  return rank_from(facts);
} catch (const Error&) {
  return {};
} catch (const JsonError&) {
  return {};
}

}  // namespace tprof
