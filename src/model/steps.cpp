// The steps and stretches of a span: turns those of the recording into events named ProfilerStep#N and the like.
#include <algorithm>

#include "model/passes.h"
#include "model/python.h"
#include "model/step_edges.h"

namespace tprof {
namespace {

constexpr u32 kNoEdge = 0xffffffff;

// What the name of an event means for steps.
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
  return u32(after - edges.begin()) - 1;
}

u32 thread_with(Model& model, u32 tid) {
  if (tid == 0) tid = model.pid;
  for (u32 i = 0; i < model.threads.size(); i++)
    if (model.threads[i].tid == tid) return i;
  TraceThread thread;
  thread.tid = thread.owner = tid;
  model.threads.push_back(thread);
  return u32(model.threads.size()) - 1;
}

// A span of GPU activities without a step or an operator is one step, because readers show nonsense without any step.
bool is_one_step(const Model& model, const std::vector<StepEdge>& edges) {
  if (!edges.empty() || (model.calls.empty() && model.gpu.empty())) return false;
  return std::all_of(model.events.begin(), model.events.end(),
                     [](const Event& e) { return e.scope == u8(Scope::user); });
}

StepEdge whole_span(const Model& model) {
  StepEdge edge{INT64_MAX, INT64_MIN, false, nullptr, nullptr};
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

// A label that began in the last step of a loop and goes on behind its last update shows where the iteration ended.
void end_with_labels(const Model& model, std::vector<StepEdge>& edges) {
  auto is_last = [](const StepEdge& edge) { return edge.step && edge.cut == StepCut::last_update; };
  if (std::none_of(edges.begin(), edges.end(), is_last)) return;
  for (const Event& e : model.events) {
    if (e.scope != u8(Scope::user) || is_python(e) || e.flags & (kEventClipped | kEventUnfinished)) continue;
    u32 at = edge_at(edges, e.begin_ns);
    if (at == kNoEdge || !is_last(edges[at]) || model.threads[e.thread].tid != edges[at].step->tid) continue;
    StepEdge &edge = edges[at], *next = at + 1 < edges.size() ? &edge + 1 : nullptr;
    bool meets_rest = next && !next->step && next->begin_ns == edge.end_ns;
    i64 limit = meets_rest ? next->end_ns : next ? next->begin_ns : model.end_ns;
    edge.end_ns = std::max(edge.end_ns, std::min(e.end_ns() + kRoundingNs, limit));
    if (meets_rest) next->begin_ns = edge.end_ns;
  }
}

// The activity in a step or stretch.
struct Content {
  u64 events = 0;
  i64 last_end = -1, last_work_end = -1;

  void add(i64 end_ns, bool counts, bool is_work) {
    events += counts;
    last_end = std::max(last_end, end_ns);
    if (is_work) last_work_end = std::max(last_work_end, end_ns);
  }
};

// Labels of the script do not count as activity, since one may be open until the process exits.
std::vector<Content> contents_of(const Model& model, const std::vector<StepEdge>& edges,
                                 const std::vector<NameTraits>& traits) {
  std::vector<Content> contents(edges.size());
  for (const Event& e : model.events) {
    if (traits[e.name].step_mark || (is_python(e) && !is_module(e))) continue;
    u32 i = edge_at(edges, e.begin_ns);
    if (i == kNoEdge) continue;
    bool work = e.scope != u8(Scope::user) || traits[e.name].optimizer || is_module(e);
    contents[i].add(e.end_ns(), !traits[e.name].record_function,
                    work && !(e.flags & (kEventClipped | kEventUnfinished)));
  }
  for (const CallEvent& call : model.calls)
    if (u32 i = edge_at(edges, call.begin_ns); i != kNoEdge) contents[i].add(call.end_ns(), true, true);
  return contents;
}

class Adder {
 public:
  Adder(Model& model, const Meta& meta, const std::vector<StretchInfo>& inside, const std::function<i64(u64)>& to_ns)
      : model_(model), meta_(meta), inside_(inside), to_ns_(to_ns) {}

  // Adds a step with the stretches inside of it.
  void add_step(const StepInfo& info, i64 begin_ns, i64 end_ns, StepCut cut) {
    Event& e = add_event(begin_ns, end_ns, info.tid, kEventStep, kStepPrefix, info.number, model_.steps.size());
    Step step{info.number, info.by, e.begin_ns, e.end_ns(), 0, (info.flags & kStepGuessed) != 0, false, cut};
    for (const StretchInfo& s : inside_) {
      i64 begin = to_ns_(s.begin_ticks), end = s.end_ticks ? to_ns_(s.end_ticks) : INT64_MAX;
      if (begin >= step.end_ns || end <= step.begin_ns) continue;
      step.evaluates = true;
      add_stretch(s, begin, std::min(end, step.end_ns - kRoundingNs));
    }
    model_.steps.push_back(step);
  }
  void add_stretch(const StretchInfo& info, i64 begin_ns, i64 end_ns) {
    Event& e = add_event(begin_ns, end_ns, info.tid, kEventStep | kEventStretch, prefix_of(info.kind), info.number,
                         model_.stretches.size());
    Stretch s{info.kind, info.number, e.begin_ns, e.end_ns(), info.batches, info.calls, info.left_out};
    s.inside = info.flags & kStretchInside;
    s.continued = begin_ns < model_.begin_ns;
    if (s.continued || end_ns > model_.end_ns) count_parts(s);
    model_.stretches.push_back(s);
  }
  // Returns false if there is no step.
  bool finish() {
    model_.events.insert(model_.events.end(), added_.begin(), added_.end());
    return !model_.steps.empty();
  }

 private:
  Event& add_event(i64 begin_ns, i64 end_ns, u32 tid, u16 flags, const char* prefix, i64 number, size_t index) {
    Event e;
    e.flags = flags;
    if (end_ns > model_.end_ns || begin_ns < model_.begin_ns) e.flags |= kEventClipped;
    e.begin_ns = std::max(begin_ns, model_.begin_ns);
    e.dur_ns = std::max<i64>(std::min(end_ns, model_.end_ns) - e.begin_ns, 0);
    e.scope = u8(Scope::user);
    e.thread = thread_with(model_, tid);
    e.name = u32(model_.names.size());
    e.step_index = u32(index);
    model_.names.push_back(prefix + std::to_string(number));
    return added_.emplace_back(e);
  }

  // For a stretch that the span cuts: counts the parts that begin in the span.
  void count_parts(Stretch& s) const {
    u32 parts = 0;
    for (u64 ticks : meta_.stretch_parts)
      if (i64 ns = to_ns_(ticks); ns >= s.begin_ns && ns < s.end_ns) parts++;
    s.calls = s.batches ? 0 : std::min(parts, s.calls);
    s.batches = std::min(parts, s.batches);
    s.left_out = 0;
  }

  Model& model_;
  const Meta& meta_;
  const std::vector<StretchInfo>& inside_;  // of steps: few
  const std::function<i64(u64)>& to_ns_;
  std::vector<Event> added_;
};

}  // namespace

void add_steps(Model& model, const Meta& meta, const SpanRequest& request, const std::function<i64(u64)>& to_ns) {
  StepEdges of_recording(meta, request.before_training, model.begin_ns, model.end_ns,
                         request.goes_on || !request.end_ticks, to_ns);
  std::vector<StepEdge> edges = of_recording.all();
  end_with_labels(model, edges);
  std::erase_if(edges, [&](const StepEdge& edge) {
    bool requested = !edge.step || ((request.first_step < 0 || edge.step->number >= request.first_step) &&
                                    (request.end_step < 0 || edge.step->number < request.end_step));
    return !requested || edge.end_ns <= model.begin_ns || edge.begin_ns >= model.end_ns || edge.end_ns <= edge.begin_ns;
  });
  StepInfo whole{};
  if (is_one_step(model, edges)) {
    edges.push_back(whole_span(model));
    edges.back().step = &whole;
  }
  std::vector<NameTraits> traits = traits_of(model.names);
  std::vector<Content> contents = contents_of(model, edges, traits);
  Adder adder(model, meta, of_recording.inside(), to_ns);
  for (size_t i = 0; i < edges.size(); i++) {
    const StepEdge& edge = edges[i];
    const Content& content = contents[i];
    // Without events it is not written, unless it is known that it has none, or that some were left out.
    bool tells = edge.stretch ? edge.stretch->left_out || is_rest(edge.stretch->kind) : edge.step == &whole;
    if (content.events == 0 && !tells) continue;
    i64 end = edge.end_ns;
    if (edge.open && content.events)
      end = std::min(end, content.last_work_end >= 0 ? content.last_work_end : content.last_end);
    bool meets_next = i + 1 < edges.size() && edges[i + 1].begin_ns <= end;
    if (meets_next) end -= kRoundingNs;
    if (edge.step)
      adder.add_step(*edge.step, edge.begin_ns, end, edge.cut);
    else
      adder.add_stretch(*edge.stretch, edge.begin_ns, end);
  }
  if (adder.finish())
    model.ledger.replaced_step_marks = std::erase_if(model.events, [&](const Event& e) {
      return !(e.flags & kEventStep) && traits[e.name].step_mark;
    });
}

}  // namespace tprof
