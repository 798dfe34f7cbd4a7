#include "kineto/ledger.h"

#include <cmath>
#include <map>

#include "kineto/names.h"
#include "model/death.h"

namespace tprof::kineto {
namespace {

Json stretches_of(const StretchSum& sum) {
  Json out = {{"count", sum.count}, {"batches", sum.batches}, {"calls", sum.calls}, {"ns", sum.ns}};
  if (sum.left_out) out["left_out"] = sum.left_out;
  if (sum.continued) out["continued"] = sum.continued;  // the span in which they began counts them
  return out;
}

// `steps`: numbers of the first and the last. Unknown figures of stretches are left out.
Json steps_of(const Model& model) {
  Counted counted = counted_of(model);
  const StepSourceNames& words = names_of(counted.by);
  std::string kind = words.kind;
  bool none = model.steps.empty();
  Json out;
  out["source"] = none ? "none" : words.source;
  out["confidence"] = none                                        ? "none"
                      : counted.guessed                           ? "guessed"
                      : kind == "training" || kind == "inference" ? "detected"
                                                                  : kind;
  if (!none) {
    out["kind"] = kind;
    out["steps"] = {{"first", model.steps.front().number}, {"last", model.steps.back().number}};
    out["count"] = counted.steps;
  }
  out["counted"] = counted_text(counted);
  for (u32 i = 0; i < kStretchKinds; i++)
    if (counted.stretches[i].count) out[kStretchKeys[i]] = stretches_of(counted.stretches[i]);
  if (counted.before_training) out["before_training"] = true;
  return out;
}

u64 number_of(const Json& object, const char* key) {
  const Json& number = object[key];
  return number.is_natural() ? number.natural() : 0;
}

StretchSum stretch_sum(const Json& step, const char* key) {
  const Json& sum = step[key];
  return {number_of(sum, "count"), number_of(sum, "continued"), number_of(sum, "batches"),
          number_of(sum, "calls"), number_of(sum, "left_out"),  i64(number_of(sum, "ns"))};
}

Json damage_of(const Damage& d) {
  return {{"bad_chunks", d.bad_chunks},
          {"bad_records", d.bad_records},
          {"unknown_kinds", d.unknown_kinds},
          {"missing_chunks", d.missing_chunks}};
}

Json samples_of(const Model& model) {
  const Sampled& s = model.sampled;
  Json out = {{"hz", s.hz}, {"count", model.samples.size()}};
#define COUNT(name) out[#name] = s.name;
  TPROF_SAMPLED(COUNT)
#undef COUNT
  out["gil"] = s.knows_gil;
  if (!s.why_not.empty()) out["why_not"] = s.why_not;
  if (!s.why_no_native.empty()) out["why_no_native"] = s.why_no_native;
  return out;
}

// The contents of the GPU part and their source; the versions of CUDA and CUPTI are in the info of the recording.
Json gpu_of(const Model& model) {
  const GpuLedger& l = model.ledger.gpu;
  Json out;
  bool cupti = l.calls_by_both || l.calls_by_cupti || l.kernels || l.copies || l.sets || l.graphs;
  out["source"] = cupti ? "CUPTI" : "interposed calls only";
  for (const auto& [key, value] : model.info)
    for (const char* prefix : {"cuda", "cupti", "gpu"})
      if (key.starts_with(prefix)) out[key] = value;
  out["devices"] = model.devices.size();
#define COUNT(field) out[#field] = l.field;
  TPROF_GPU_COUNTS(COUNT)
#undef COUNT
#define DOUBT(field, what) \
  if (l.field) out[#field] = l.field;
  TPROF_GPU_DOUBTS(DOUBT)
#undef DOUBT
  return out;
}

// The state of the machine, if the finisher observed it.
Json machine_of(const Model& model) {
  Json out;
  MachineFigures figures = machine_figures(model.info);
  for (u32 i = 0; i < kMachineFigures; i++)
    if (std::isfinite(figures[i])) out[kMachineRows[i].key] = figures[i];
  return out;
}

}  // namespace

Json ledger_of(const Model& model) {
  const Ledger& l = model.ledger;
  Json out;
  out["schema"] = 1;
  out["version"] = TPROF_VERSION;
  out["seen"] = l.seen();
  out["written"] = l.written;
  out["dropped"] = Json::object();
  for (const auto& [reason, count] : l.dropped)
    if (count) out["dropped"][reason] = count;
  out["discarded_warmup"] = l.discarded_warmup;
  out["step"] = steps_of(model);
  out["capabilities"] = Json::object();
  for (const auto& [name, capability] : model.capabilities)
    out["capabilities"]["rank" == name ? "rank_" : name] = {{"on", capability.on}, {"why", capability.why}};
  out["own_cost"] = {{"process_ns", model.own_ns}};
  out["span"] = {{"kind", model.kind},
                 {"window", model.window},
                 {"pid", model.pid},
                 {"begin_ns", model.begin_realtime_ns()},
                 {"duration_ns", model.end_ns - model.begin_ns}};
  if (auto boot = model.info.find(kBootId); boot != model.info.end()) out["span"]["boot"] = boot->second;
  out["ranges"] = {{"clipped", l.clipped}, {"unfinished", l.unfinished}, {"clamped", l.clamped}, {"lanes", l.lanes}};
  out["fwdbwd"] = {{"pairs", l.pairs}, {"left_out", l.pairs_left_out}};
  if (!l.pairs_why.empty()) out["fwdbwd"]["why"] = l.pairs_why;
  if (l.gpu.any()) out["gpu"] = gpu_of(model);
  if (model.sampled.hz) out[kSamples] = samples_of(model);
  if (Json machine = machine_of(model); !machine.is_null()) out["machine"] = machine;
  if (l.replaced_step_marks) out["replaced_step_marks"] = l.replaced_step_marks;
  if (l.inputs_cut) out["inputs_cut"] = l.inputs_cut;
  if (l.stacks_cut) out["stacks_cut"] = l.stacks_cut;
  if (l.stacks_lost) out["stacks_lost"] = l.stacks_lost;
  if (l.names_lost) out["names_lost"] = l.names_lost;
  if (!l.clock.empty()) out["clock"] = l.clock;
  if (!model.trigger.why.empty())
    out["trigger"] = {{"why", model.trigger.why},
                      {"refused", model.trigger.refused},
                      {"dropped_steps", model.trigger.dropped_steps},
                      {"dropped_ns", model.trigger.dropped_ns}};
  if (model.process_ended_inside) out["process_ended_inside"] = true;
  if (model.killed_by) out["killed_by"] = model.killed_by;
  if (!model.process_dropped.empty()) out["process_dropped"] = model.process_dropped;
  if (!model.stopped.empty()) out["recording_stopped"] = model.stopped;
  if (model.damage.any() || model.damage.unknown_kinds) out["damage"] = damage_of(model.damage);
  return out;
}

Json well_typed(const Json& ledger) {
  using Kind = Json::Kind;
  static const std::map<std::string, Kind> kKinds = {
      {"schema", Kind::natural},    {"seen", Kind::natural},
      {"written", Kind::natural},   {"process_ended_inside", Kind::boolean},
      {"killed_by", Kind::natural}, {"dropped", Kind::object},
      {"step", Kind::object},       {"capabilities", Kind::object},
      {"span", Kind::object},       {"own_cost", Kind::object},
      {"gpu", Kind::object},        {kSamples, Kind::object},
      {"trigger", Kind::object},    {"machine", Kind::object}};
  if (!ledger.is_object()) return {};
  Json out = Json::object();
  auto add = [](Json& to, const std::string& key, const Json& value, Kind kind) {
    if (value.kind() == kind) to[key] = value;
  };
  for (const auto& [key, value] : ledger.items()) {
    auto kind = kKinds.find(key);
    add(out, key, value, kind == kKinds.end() ? value.kind() : kind->second);
  }
  if (out.contains("step") && out["step"].value("counted", "").empty()) out["step"].erase("counted");
  if (!out.contains("capabilities")) return out;
  Json capabilities = Json::object();
  for (const auto& [name, value] : out["capabilities"].items()) {
    if (!value.is_object()) continue;
    Json& one = capabilities[name] = Json::object();
    for (const auto& [key, kind] : {std::pair{"on", Kind::boolean}, {"why", Kind::string}})
      if (value.contains(key)) add(one, key, value[key], kind);
  }
  out["capabilities"] = capabilities;
  return out;
}

Sampled read_sampled(const Json& ledger) {
  Sampled out;
  const Json& samples = ledger[kSamples];
  out.hz = u32(number_of(samples, "hz"));
#define COUNT(name) out.name = number_of(samples, #name);
  TPROF_SAMPLED(COUNT)
#undef COUNT
  out.knows_gil = samples.value("gil", false);
  out.why_not = samples.value("why_not", "");
  out.why_no_native = samples.value("why_no_native", "");
  return out;
}

MachineFigures read_machine(const Json& ledger) {
  MachineFigures out = no_machine_figures();
  for (u32 i = 0; i < kMachineFigures; i++)
    if (const Json& figure = ledger["machine"][kMachineRows[i].key]; figure.is_number()) out[i] = figure.real();
  return out;
}

std::string read_boot(const Json& ledger) { return ledger["span"].value("boot", ""); }

TriggerFacts read_trigger(const Json& ledger) {
  const Json& trigger = ledger["trigger"];
  return {trigger.value("why", ""), number_of(trigger, "refused"), number_of(trigger, "dropped_steps"),
          number_of(trigger, "dropped_ns")};
}

Counted read_counted(const Json& ledger) {
  Counted out;
  const Json& step = ledger["step"];
  if (!step.is_object()) return out;
  out.by = step_by(step.value("source", ""), step.value("kind", ""));
  out.steps = number_of(step, "count");
  out.guessed = step.value("confidence", "") == "guessed";
  out.before_training = step.contains("before_training");
  for (u32 i = 0; i < kStretchKinds; i++) out.stretches[i] = stretch_sum(step, kStretchKeys[i]);
  return out;
}

Death read_death(const Json& ledger) {
  if (!ledger.contains("process_ended_inside")) return {};
  u64 signal = number_of(ledger, "killed_by");
  return {true, signal <= kSignals ? int(signal) : 0};
}

bool mark_ledger_before_training(Json& ledger) {
  Counted counted = read_counted(ledger);
  if (counted.before_training || std::string_view(names_of(counted.by).kind) != "inference") return false;
  counted.before_training = true;
  ledger["step"]["counted"] = counted_text(counted);
  ledger["step"]["before_training"] = true;
  return true;
}

}  // namespace tprof::kineto
