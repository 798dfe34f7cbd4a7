#include "kineto/ledger.h"

namespace tprof::kineto {
namespace {

using Json = nlohmann::ordered_json;

struct StepWords {
  StepBy by;
  const char* source;
  const char* confidence;
};
constexpr StepWords kStepWords[] = {
    {StepBy::none, "none found: the whole span", "none"},
    {StepBy::api, "tprof_step()", "given"},
    {StepBy::profiler_step, "the script's own ProfilerStep", "given"},
    {StepBy::option, "TPROF_STEP", "given"},
    {StepBy::dataloader, "DataLoader", "detected"},
    {StepBy::optimizer, "optimizer", "detected"},
    {StepBy::forward, "top-level nn.Module calls", "guessed"},
    {StepBy::backward, "backward", "detected"},
};

Json steps_of(const Model& model) {
  Json out;
  if (model.steps.empty()) return Json{{"source", "none"}, {"confidence", "none"}};
  for (const StepWords& words : kStepWords) {
    if (words.by != model.steps.back().by) continue;
    out["source"] = words.source;
    out["confidence"] = words.confidence;
  }
  if (out.empty()) out = {{"source", "unknown"}, {"confidence", "unknown"}};
  out["steps"] = {model.steps.front().number, model.steps.back().number};
  return out;
}

Json damage_of(const Damage& d) {
  return {{"bad_chunks", d.bad_chunks},
          {"bad_records", d.bad_records},
          {"unknown_kinds", d.unknown_kinds},
          {"missing_chunks", d.missing_chunks}};
}

// What the GPU part holds and where it comes from; what is known of CUDA and CUPTI stands in the recording's info.
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
                 {"begin_ns", model.begin_realtime_ns()},
                 {"duration_ns", model.end_ns - model.begin_ns}};
  out["ranges"] = {
      {"clipped", l.clipped}, {"unfinished", l.unfinished}, {"clamped", l.clamped}, {"lanes", l.lanes}};
  out["fwdbwd"] = {{"pairs", l.pairs}, {"left_out", l.pairs_left_out}};
  if (!l.pairs_why.empty()) out["fwdbwd"]["why"] = l.pairs_why;
  if (l.gpu.any()) out["gpu"] = gpu_of(model);
  if (l.replaced_step_marks) out["replaced_step_marks"] = l.replaced_step_marks;
  if (l.inputs_cut) out["inputs_cut"] = l.inputs_cut;
  if (l.stacks_cut) out["stacks_cut"] = l.stacks_cut;
  if (l.stacks_lost) out["stacks_lost"] = l.stacks_lost;
  if (l.names_lost) out["names_lost"] = l.names_lost;
  if (!l.clock.empty()) out["clock"] = l.clock;
  if (model.process_ended_inside) out["process_ended_inside"] = true;
  if (!model.process_dropped.empty()) out["process_dropped"] = model.process_dropped;
  if (!model.stopped.empty()) out["recording_stopped"] = model.stopped;
  if (model.damage.any() || model.damage.unknown_kinds) out["damage"] = damage_of(model.damage);
  return out;
}

}  // namespace tprof::kineto
