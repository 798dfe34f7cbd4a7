#include "kineto/ledger.h"

#include <cmath>
#include <map>

#include "kineto/names.h"
#include "model/death.h"

namespace tprof::kineto {
namespace {

using Json = nlohmann::ordered_json;

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
    out["steps"] = {model.steps.front().number, model.steps.back().number};
    out["count"] = counted.steps;
  }
  out["counted"] = counted_text(counted);
  for (u32 i = 0; i < kStretchKinds; i++)
    if (counted.stretches[i].count) out[kStretchKeys[i]] = stretches_of(counted.stretches[i]);
  if (counted.before_training) out["before_training"] = true;
  return out;
}

u64 number_of(const Json& object, const char* key) {
  auto it = object.find(key);
  return it != object.end() && it->is_number_unsigned() ? it->get<u64>() : 0;
}

StretchSum stretch_sum(const Json& step, const char* key) {
  auto it = step.find(key);
  if (it == step.end() || !it->is_object()) return {};
  return {number_of(*it, "count"), number_of(*it, "continued"), number_of(*it, "batches"),
          number_of(*it, "calls"), number_of(*it, "left_out"),  i64(number_of(*it, "ns"))};
}

std::string text_at(const Json& object, const char* key) {
  auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

Json damage_of(const Damage& d) {
  return {{"bad_chunks", d.bad_chunks},
          {"bad_records", d.bad_records},
          {"unknown_kinds", d.unknown_kinds},
          {"missing_chunks", d.missing_chunks}};
}

// The contents of the GPU part and their source; the versions of CUDA and CUPTI are in the info of the recording.
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
  using Type = Json::value_t;
  static const std::map<std::string, Type> kTypes = {{"schema", Type::number_unsigned},
                                                     {"seen", Type::number_unsigned},
                                                     {"written", Type::number_unsigned},
                                                     {"process_ended_inside", Type::boolean},
                                                     {"killed_by", Type::number_unsigned},
                                                     {"dropped", Type::object},
                                                     {"step", Type::object},
                                                     {"capabilities", Type::object},
                                                     {"span", Type::object},
                                                     {"own_cost", Type::object},
                                                     {"gpu", Type::object},
                                                     {kSamples, Type::object},
                                                     {"trigger", Type::object},
                                                     {"machine", Type::object}};
  if (!ledger.is_object()) return {};
  Json out = Json::object();
  auto add = [](Json& to, const std::string& key, const Json& value, Type type) {
    if (value.type() == type) to[key] = value;
  };
  for (const auto& [key, value] : ledger.items()) {
    auto type = kTypes.find(key);
    add(out, key, value, type == kTypes.end() ? value.type() : type->second);
  }
  if (out.contains("step") && !text_at(out["step"], "counted").size()) out["step"].erase("counted");
  if (!out.contains("capabilities")) return out;
  Json capabilities = Json::object();
  for (const auto& [name, value] : out["capabilities"].items()) {
    if (!value.is_object()) continue;
    Json& one = capabilities[name] = Json::object();
    for (const auto& [key, type] : {std::pair{"on", Type::boolean}, {"why", Type::string}})
      if (value.contains(key)) add(one, key, value[key], type);
  }
  out["capabilities"] = capabilities;
  return out;
}

Sampled read_sampled(const Json& ledger) {
  Sampled out;
  auto samples = ledger.is_object() ? ledger.find(kSamples) : ledger.end();
  if (samples == ledger.end() || !samples->is_object()) return out;
  out.hz = u32(number_of(*samples, "hz"));
#define COUNT(name) out.name = number_of(*samples, #name);
  TPROF_SAMPLED(COUNT)
#undef COUNT
  auto gil = samples->find("gil");
  out.knows_gil = gil != samples->end() && gil->is_boolean() && gil->get<bool>();
  out.why_not = text_at(*samples, "why_not");
  out.why_no_native = text_at(*samples, "why_no_native");
  return out;
}

MachineFigures read_machine(const Json& ledger) {
  MachineFigures out = no_machine_figures();
  auto machine = ledger.is_object() ? ledger.find("machine") : ledger.end();
  if (machine == ledger.end() || !machine->is_object()) return out;
  for (u32 i = 0; i < kMachineFigures; i++)
    if (auto it = machine->find(kMachineRows[i].key); it != machine->end() && it->is_number())
      out[i] = it->get<double>();
  return out;
}

std::string read_boot(const Json& ledger) {
  auto span = ledger.is_object() ? ledger.find("span") : ledger.end();
  return span == ledger.end() || !span->is_object() ? "" : text_at(*span, "boot");
}

TriggerFacts read_trigger(const Json& ledger) {
  auto trigger = ledger.is_object() ? ledger.find("trigger") : ledger.end();
  if (trigger == ledger.end() || !trigger->is_object()) return {};
  return {text_at(*trigger, "why"), number_of(*trigger, "refused"), number_of(*trigger, "dropped_steps"),
          number_of(*trigger, "dropped_ns")};
}

Counted read_counted(const Json& ledger) {
  Counted out;
  auto step = ledger.is_object() ? ledger.find("step") : ledger.end();
  if (step == ledger.end() || !step->is_object()) return out;
  out.by = step_by(text_at(*step, "source"), text_at(*step, "kind"));
  out.steps = number_of(*step, "count");
  out.guessed = text_at(*step, "confidence") == "guessed";
  out.before_training = step->contains("before_training");
  for (u32 i = 0; i < kStretchKinds; i++) out.stretches[i] = stretch_sum(*step, kStretchKeys[i]);
  return out;
}

Death read_death(const Json& ledger) {
  if (!ledger.is_object() || !ledger.contains("process_ended_inside")) return {};
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
