#include "top/json.h"

#include "top/page.h"

namespace tprof {
namespace {

Json us(double ns) { return ns < 0 ? Json() : Json(ns / 1e3); }
Json known(double value) { return value < 0 ? Json() : Json(value); }
Json count(i64 value) { return value < 0 ? Json() : Json(value); }

const char* word_of(Phase phase) {
  switch (phase) {
    case Phase::warmup: return "warmup";
    case Phase::active: return "active";
    case Phase::ended: return "ended";
    default: return "wait";
  }
}

// "data_loading": the name of the category in the table.
const char* key_of(Category category) {
  switch (category) {
#define CATEGORY(name, text) \
  case Category::name: return #name;
    TPROF_CATEGORIES(CATEGORY)
#undef CATEGORY
  }
  return "other";
}

Json step_json(const live::StepView& s) {
  if (!s.steps) return {};
  Json out = {{"first", s.first},
              {"last", s.last},
              {"steps", s.steps},
              {"age_us", us(double(s.age_ns))},
              {"mean_us", us(s.ns)}};
  out["by"] = Json::object();
  for (u32 c = 0; c < kCategories; c++)
    if (s.shown[c]) out["by"][key_of(static_cast<Category>(c))] = us(s.by[c]);
  return out;
}

Json program_json(const live::ProgramView& p) {
  Json out = {{"pid", p.pid},
              {"host", p.host},
              {"command", p.command},
              {"recording", p.recording},
              {"rank", count(p.rank)},
              {"world_size", count(p.world_size)},
              {"ended", p.ended},
              {"phase", word_of(p.phase)},
              {"says", p.ended ? p.why_ended : p.phase_text},
              {"step", count(p.step)},
              {"steps_per_second", known(p.rate)},
              {"mean_steps_per_second", known(p.mean_rate)},
              {"recent_step", step_json(p.recent)},
              {"own_us", us(p.own_ns)},
              {"slow", p.slow},
              {"cpu", known(p.cpu)},
              {"rss_bytes", count(p.rss)},
              {"dropped", p.dropped},
              {"windows_not_read", p.lost_windows},
              {"ring_overtook", p.overtaken}};
  if (!p.stopped.empty()) out["stopped"] = p.stopped;
  out["operators"] = Json::array();
  for (const live::OperatorView& op : sorted_operators(p, OperatorOrder::self))
    out["operators"].push_back({{"name", op.name},
                                {"self_us", us(double(op.self_ns))},
                                {"total_us", us(double(op.total_ns))},
                                {"calls", op.calls}});
  out["operators_self_us"] = us(double(p.operators_self_ns));
  out["samples"] = p.samples;
  out["lines"] = Json::array();
  for (const live::SampledLine& line : p.lines)
    out["lines"].push_back({{"file", line.file},
                            {"line", count(line.line)},
                            {"function", line.function},
                            {"self", line.self},
                            {"total", line.total}});
  out["memory"] = Json::array();
  for (const live::MemoryView& m : p.memory)
    out["memory"].push_back(
        {{"device", m.device}, {"bytes", m.allocated}, {"peak_bytes", m.peak}, {"reserved_bytes", m.reserved}});
  out["workers"] = Json::array();
  for (const live::LoaderView& w : p.workers)
    out["workers"].push_back({{"worker", w.worker},
                              {"pid", w.pid},
                              {"does", tprof::word_of(w.part)},
                              {"since_us", us(double(w.since_ns))},
                              {"fetching", known(w.fetching)},
                              {"fetch_us", us(double(w.fetch_ns))}});
  return out;
}

}  // namespace

Json top_json(const std::vector<live::ProgramView>& programs, const std::string& waits) {
  Json out = {{"schema", 1}, {"programs", Json::array()}};
  if (!waits.empty()) out["waits"] = waits;
  for (const live::ProgramView& p : programs) out["programs"].push_back(program_json(p));
  return out;
}

}  // namespace tprof
