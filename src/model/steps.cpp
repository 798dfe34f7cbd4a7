// The steps of a span: from edges in the recording to events named ProfilerStep#N.
#include <algorithm>

#include "model/passes.h"
#include "model/python.h"

namespace tprof {
namespace {

constexpr u32 kNoEdge = 0xffffffff;

// What an event's name means for steps.
struct NameTraits {
  bool step_mark;
  bool record_function;
  bool optimizer;
};

bool is_step_mark(const std::string& name) {
  size_t prefix = sizeof kStepPrefix - 1;
  return name.size() > prefix && name.compare(0, prefix, kStepPrefix) == 0 &&
         std::all_of(name.begin() + prefix, name.end(), [](unsigned char c) { return c >= '0' && c <= '9'; });
}

std::vector<NameTraits> traits_of(const std::vector<std::string>& names) {
  std::vector<NameTraits> traits;
  traits.reserve(names.size());
  for (const std::string& name : names)
    traits.push_back({is_step_mark(name), name.starts_with(kRecordFunctionPrefix), name.starts_with(kOptimizerPrefix)});
  return traits;
}

u32 edge_at(const std::vector<StepEdge>& edges, i64 ns) {
  auto after = std::upper_bound(edges.begin(), edges.end(), ns,
                                [](i64 value, const StepEdge& edge) { return value < edge.begin_ns; });
  if (after == edges.begin() || ns >= after[-1].end_ns) return kNoEdge;
  return static_cast<u32>(after - edges.begin()) - 1;
}

u32 thread_with(Model& model, u32 tid) {
  if (tid == 0) tid = model.pid;
  for (u32 i = 0; i < model.threads.size(); i++)
    if (model.threads[i].tid == tid) return i;
  TraceThread thread;
  thread.tid = thread.owner = tid;
  model.threads.push_back(thread);
  return static_cast<u32>(model.threads.size()) - 1;
}

// A span of GPU work in which neither a step nor an operator was found is one step: readers show nonsense without any.
bool is_one_step(const Model& model, const std::vector<StepEdge>& edges) {
  if (!edges.empty() || (model.calls.empty() && model.gpu.empty())) return false;
  return std::all_of(model.events.begin(), model.events.end(),
                     [](const Event& e) { return e.scope == static_cast<u8>(Scope::user); });
}

StepEdge whole_span(const Model& model) {
  StepEdge edge{0, StepBy::none, 0, INT64_MAX, INT64_MIN, false};
  auto hold = [&](i64 begin, i64 end) {
    edge.begin_ns = std::min(edge.begin_ns, begin);
    edge.end_ns = std::max(edge.end_ns, end);
  };
  for (const Event& e : model.events) hold(e.begin_ns, e.end_ns());
  for (const CallEvent& c : model.calls) hold(std::min(c.begin_ns, c.at_ns), c.end_ns());
  for (const GpuEvent& e : model.gpu)
    if (model.calls.empty()) hold(e.begin_ns, e.end_ns());
  return edge;
}

}  // namespace

void add_steps(Model& model, std::vector<StepEdge> edges) {
  if (is_one_step(model, edges)) edges.push_back(whole_span(model));
  std::sort(edges.begin(), edges.end(), [](auto& a, auto& b) { return a.begin_ns < b.begin_ns; });
  // What happened in each: a step without events is not written, an open one ends with its last work. Labels
  // of the script's own do not count as work: one may be open until the process exits.
  struct Content {
    u64 events = 0;
    i64 last_end = -1, last_work_end = -1;
  };
  std::vector<Content> contents(edges.size());
  std::vector<NameTraits> traits = traits_of(model.names);
  for (const Event& e : model.events) {
    if (traits[e.name].step_mark || (is_python(e) && !is_module(e))) continue;
    u32 i = edge_at(edges, e.begin_ns);
    if (i == kNoEdge) continue;
    Content& c = contents[i];
    c.events += !traits[e.name].record_function;
    c.last_end = std::max(c.last_end, e.end_ns());
    bool work = e.scope != static_cast<u8>(Scope::user) || traits[e.name].optimizer || is_module(e);
    if (work && !(e.flags & (kEventClipped | kEventUnfinished)))
      c.last_work_end = std::max(c.last_work_end, e.end_ns());
  }
  for (const CallEvent& call : model.calls) {
    u32 i = edge_at(edges, call.begin_ns);
    if (i == kNoEdge) continue;
    Content& c = contents[i];
    c.events++;
    c.last_end = std::max(c.last_end, call.end_ns());
    c.last_work_end = std::max(c.last_work_end, call.end_ns());
  }
  std::vector<Event> added;
  for (size_t i = 0; i < edges.size(); i++) {
    StepEdge& edge = edges[i];
    const Content& content = contents[i];
    if (content.events == 0 && edge.by != StepBy::none) continue;
    if (edge.open)
      edge.end_ns =
          std::min(edge.end_ns, content.last_work_end >= 0 ? content.last_work_end : content.last_end);
    Event e;
    e.flags = kEventStep;
    if (edge.end_ns > model.end_ns || edge.begin_ns < model.begin_ns) e.flags |= kEventClipped;
    e.begin_ns = std::max(edge.begin_ns, model.begin_ns);
    bool meets_next = i + 1 < edges.size() && edges[i + 1].begin_ns <= edge.end_ns;
    i64 end = std::min(edge.end_ns - (meets_next ? kRoundingNs : 0), model.end_ns);
    e.dur_ns = std::max<i64>(end - e.begin_ns, 0);
    e.scope = static_cast<u8>(Scope::user);
    e.thread = thread_with(model, edge.tid);
    e.name = static_cast<u32>(model.names.size());
    e.inputs_bytes = static_cast<u32>(model.steps.size());  // which step; nest_events() turns it round
    model.names.push_back(kStepPrefix + std::to_string(edge.number));
    model.steps.push_back({edge.number, edge.by, e.begin_ns, e.end_ns(), 0});
    added.push_back(e);
  }
  if (added.empty()) return;
  model.ledger.replaced_step_marks =
      std::erase_if(model.events, [&](const Event& e) { return traits[e.name].step_mark; });
  model.events.insert(model.events.end(), added.begin(), added.end());
}

}  // namespace tprof
