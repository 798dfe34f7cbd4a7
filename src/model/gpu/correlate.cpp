// Attributes GPU activities to operators: a call nests in time in a range of its thread, and the activities that it
// launched belong to that range.
//
// The innermost operator counts. Labels of the user do not hide the operator around them (readers show device times
// for operators only), but are used if there is no operator. Collectives count as operators, since readers find the
// kernels of communication by their id.
#include <algorithm>

#include "model/communication.h"
#include "model/passes.h"
#include "model/python.h"
#include "model/sort.h"

namespace tprof {
namespace {

constexpr i64 kClockSlackNs = 1000;  // maximum difference between CUPTI's times of a call and the clock of the ranges

bool is_operator(const Model& model, const Event& e) {
  if (is_python(e)) return false;
  if (e.scope != u8(Scope::user)) return true;
  return is_collective_label(model.name_of(e));
}

i32 operator_around(const Model& model, i32 innermost) {
  for (i32 i = innermost; i >= 0; i = model.events[i].parent)
    if (is_operator(model, model.events[i])) return i;
  while (innermost >= 0 && is_python(model.events[innermost])) innermost = model.events[innermost].parent;
  return innermost;
}

// tprof's own stamp has the clock of the ranges. Between CUPTI's stamps, the middle is certainly inside the call.
i64 moment_of(const CallEvent& call) { return call.seen & kSeenByUs ? call.at_ns : call.begin_ns + call.dur_ns / 2; }

// A call must not appear to cross the range in which it lies.
void fit(CallEvent& call, const Event& range) {
  i64 begin = call.begin_ns, end = call.end_ns();
  if (begin < range.begin_ns && range.begin_ns - begin <= kClockSlackNs) begin = range.begin_ns;
  if (end > range.end_ns() && end - range.end_ns() <= kClockSlackNs) end = range.end_ns();
  call.begin_ns = begin;
  call.dur_ns = std::max<i64>(end - begin, 0);
}

}  // namespace

void attribute_gpu_work(Model& model, bool exact) {
  std::vector<u32> order(model.calls.size());
  for (u32 i = 0; i < order.size(); i++) order[i] = i;
  sort_if_needed(order, [&](u32 a, u32 b) { return moment_of(model.calls[a]) < moment_of(model.calls[b]); });
  std::vector<i32> latest(model.threads.size(), -1);  // by row: the event that began last
  size_t next = 0;
  for (u32 i : order) {
    CallEvent& call = model.calls[i];
    i64 at = moment_of(call);
    for (; next < model.events.size() && model.events[next].begin_ns <= at; next++)
      latest[model.events[next].thread] = i32(next);
    i32 inside = call.op >= 0 ? call.op : latest[call.thread];
    while (call.op < 0 && inside >= 0 && model.events[inside].end_ns() <= at) inside = model.events[inside].parent;
    if (inside < 0) continue;
    if (!exact) fit(call, model.events[inside]);
    call.op = operator_around(model, inside);
  }
  for (GpuEvent& e : model.gpu)
    if (e.call != kNone) e.op = model.calls[e.call].op;
}

}  // namespace tprof
