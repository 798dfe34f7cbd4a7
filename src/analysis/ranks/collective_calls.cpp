#include "analysis/ranks/collective_calls.h"

#include <ctype.h>

#include <algorithm>
#include <string_view>

#include "analysis/basis/tensors.h"
#include "base/dtypes.h"
#include "base/sizes.h"

namespace tprof {
namespace {

i64 input_bytes(const Event& op) {
  double sum = 0;
  for (const OpInput& input : inputs_of(op)) {
    if (!input.tensor.defined) continue;
    u32 each = dtype_bytes(input.tensor.dtype);
    if (!each) return -1;
    sum += input.tensor.elements() * each;
  }
  return sum > 0 ? size_or_unknown(sum) : -1;
}

// The communication operator at or around an event, -1 none.
i32 communication_op(const Model& model, const NameClasses& classes, i32 event) {
  while (event >= 0 && !classes.is(model.events[event], NameClass::communication_op))
    event = model.events[event].parent;
  return event;
}

class CallReader {
 public:
  CallReader(const Model& model, const NameClasses& classes, const Windows& windows)
      : model_(model), classes_(classes), windows_(windows) {}

  CollectiveCalls run() {
    add_kernels();
    out_.on_gpu = !out_.calls.empty();
    if (!out_.on_gpu) add_operators();
    std::stable_sort(out_.calls.begin(), out_.calls.end(),
                     [](const CollectiveCall& a, const CollectiveCall& b) { return a.begin_ns < b.begin_ns; });
    return std::move(out_);
  }

 private:
  bool inside(i64 ns) const { return windows_.holds(ns); }

  void add_kernels() {
    size_t next = 0;
    for (u32 i = 0; i < model_.gpu.size(); i++) {
      const GpuEvent& work = model_.gpu[i];
      if (work.kind() != Kind::kernel || classes_.work(work) != Work::communication || !inside(work.begin_ns)) continue;
      i32 op = communication_op(model_, classes_, work.op);
      CollectiveCall call = call_of(op >= 0 ? model_.events[op].name : work.name, work.begin_ns, work.dur_ns);
      call.work = i;
      if (op >= 0) call.bytes = input_bytes(model_.events[op]);
      while (next < model_.collectives.size() && model_.collectives[next].gpu < i) next++;
      size_t first = next;
      for (; next < model_.collectives.size() && model_.collectives[next].gpu == i; next++) {
        out_.calls.push_back(call);
        describe(out_.calls.back(), model_.collectives[next]);
      }
      if (next == first) out_.calls.push_back(std::move(call));
    }
  }

  void describe(CollectiveCall& call, const Collective& said) const {
    if (said.name) call.op = model_.names[said.name];
    if (said.group) call.group = model_.names[said.group];
    call.sequence = said.sequence;
    call.ranks = said.group_size;
    if (said.group_ranks) call.group_ranks = model_.names[said.group_ranks];
    call.peer = said.peer;
    call.group_rank = said.group_rank;
    call.async = said.async;
    u32 each = said.dtype ? dtype_bytes(std::string_view(model_.names[said.dtype])) : 0;
    i64 elements = std::max(said.in_elements, said.out_elements);
    if (each && elements >= 0) call.bytes = size_or_unknown(double(elements) * each);
  }

  // Those that ran on the CPU, and those of NCCL of which the trace has no kernel. An operator only starts a
  // collective: where no label of the backend shows it, it may not have run at all.
  void add_operators() {
    for (const Collective& c : model_.collectives) {
      bool call_only = c.wire == kNone && c.by_nccl;
      if (c.gpu != kNone || (c.wire == kNone && !call_only)) continue;
      const Event& shown = model_.events[call_only ? c.op : c.wire];
      // By when the program called it: gloo's threads may begin before or after a step ends, and differ on the ranks.
      if (!inside(model_.events[c.op != kNone ? c.op : c.wire].begin_ns)) continue;
      CollectiveCall call = call_of(shown.name, shown.begin_ns, shown.dur_ns);
      describe(call, c);
      call.call_only = call_only;
      call.is_cut = shown.flags & (kEventClipped | kEventUnfinished);
      if (!call_only) call.op = model_.names[shown.name];
      if (c.op != kNone) {
        const Event& op = model_.events[c.op];
        call.call_ns = i64(model_.base_time_ns) + op.begin_ns;
        call.call_dur_ns = op.dur_ns;
      }
      out_.calls.push_back(std::move(call));
    }
  }

  CollectiveCall call_of(u32 name, i64 begin_ns, i64 dur_ns) const {
    CollectiveCall call;
    call.op = model_.names[name];
    call.begin_ns = i64(model_.base_time_ns) + begin_ns;
    call.dur_ns = dur_ns;
    return call;
  }

  const Model& model_;
  const NameClasses& classes_;
  const Windows& windows_;
  CollectiveCalls out_;
};

}  // namespace

bool CollectiveCall::exchanges_gradients() const {
  std::string name;
  for (char c : op)
    if (c != '_' && c != '-') name += char(tolower(c));
  for (const char* kind : {"allreduce", "reducescatter", "allgather"})
    if (name.find(kind) != name.npos) return true;
  return false;
}

CollectiveCalls collective_calls(const Model& model, const NameClasses& classes, const Windows& windows) {
  return CallReader(model, classes, windows).run();
}

}  // namespace tprof
