#include "analysis/rank.h"

#include <algorithm>
#include <string_view>

#include "analysis/activity.h"
#include "analysis/exposed.h"
#include "analysis/tensors.h"
#include "base/dtypes.h"

namespace tprof {
namespace {

// As traces call element types.
u32 bytes_of_type(std::string_view type) {
  static constexpr std::pair<std::string_view, u32> kTypes[] = {
      {"Byte", 1}, {"Char", 1},  {"Bool", 1}, {"Float8", 1}, {"Short", 2},        {"Half", 2},          {"BFloat16", 2},
      {"Int", 4},  {"Float", 4}, {"Long", 8}, {"Double", 8}, {"ComplexFloat", 8}, {"ComplexDouble", 16}};
  for (const auto& [name, bytes] : kTypes)
    if (type == name) return bytes;
  return type.starts_with("Float8") ? 1 : 0;
}

i64 input_bytes(const Event& op) {
  i64 sum = 0;
  for (const OpInput& input : inputs_of(op)) {
    if (!input.tensor.defined) continue;
    u32 each = dtype_bytes(input.tensor.dtype);
    if (!each) return -1;
    sum += input.tensor.elements() * each;
  }
  return sum > 0 ? sum : -1;
}

// The communication operator at or around an event, -1 none.
i32 communication_op(const Model& model, const Words& words, i32 event) {
  while (event >= 0 && !words.is(model.events[event], Word::communication_op)) event = model.events[event].parent;
  return event;
}

// What a collective is waited for with, or what starts it: no work of the host's own.
bool serves_collectives(std::string_view name) {
  return name.starts_with("c10d::") || name.starts_with("_c10d_functional::") ||
         name.starts_with("c10d_functional::") || name == "record_param_comms";
}

class Reader {
 public:
  Reader(const Model& model, const std::string& worker) : model_(model), words_(model), windows_(windows_of(model)) {
    out_.worker = worker;
    out_.number = model.rank;
    out_.world_size = model.world_size;
    out_.span_ns = windows_.time.length();
    out_.host = model.host;
    out_.pid = model.pid;
    add_steps();
  }

  Rank run() {
    add_kernels();
    out_.on_gpu = !out_.calls.empty();
    if (!out_.on_gpu) add_operators();
    std::stable_sort(out_.calls.begin(), out_.calls.end(),
                     [](const CollectiveCall& a, const CollectiveCall& b) { return a.begin_ns < b.begin_ns; });
    std::map<u32, GpuSets> devices = gpu_sets(model_, words_);
    IntervalSet on_host = out_.on_gpu ? IntervalSet() : times_of_calls();
    for (const auto& [device, sets] : devices)
      add_time(sets.computation, out_.on_gpu ? sets.communication : on_host);
    if (devices.empty()) add_time(operators(), on_host);
    return std::move(out_);
  }

 private:
  bool inside(i64 ns) const { return windows_.holds(ns); }
  i64 length_of(const IntervalSet& set) const { return (set & windows_.time).length(); }
  i64 base() const { return static_cast<i64>(model_.base_time_ns); }

  void add_steps() {
    Overview overview = overview_of(model_);
    out_.gpus = overview.gpus;
    out_.has_steps = windows_.has_steps;
    for (size_t i = 0; i < windows_.steps.size(); i++) {
      const Interval& step = windows_.steps[i];
      out_.steps.push_back({windows_.names[i], {base() + step.begin, base() + step.end}, {}});
      if (i < overview.steps.size()) out_.steps.back().by = overview.steps[i].by;
    }
  }

  // Of one device.
  void add_time(const IntervalSet& computation, const IntervalSet& communication) {
    IntervalSet common = computation & communication;
    auto add = [](Overlap& to, i64 span, i64 both, i64 computing, i64 communicating) {
      to.computation_ns += computing - both;
      to.overlap_ns += both;
      to.communication_ns += communicating - both;
      to.other_ns += span - computing - communicating + both;
    };
    add(out_, out_.span_ns, length_of(common), length_of(computation), length_of(communication));
    for (size_t i = 0; i < windows_.steps.size(); i++) {
      auto [begin, end] = windows_.steps[i];
      add(out_.steps[i].overlap, end - begin, common.length_in(begin, end), computation.length_in(begin, end),
          communication.length_in(begin, end));
    }
  }

  // Where some thread is in an operator.
  IntervalSet operators() const {
    Waits waits(model_, words_);
    HostTimelines timelines(model_, words_, waits);
    std::vector<Interval> any;
    for (u32 thread = 0; thread < model_.threads.size(); thread++)
      for (const ActivityPiece& piece : timelines.of(thread))
        if (piece.activity == Activity::operating && !serves_collectives(model_.name_of(model_.events[piece.event])))
          any.push_back({piece.begin_ns, piece.end_ns});
    return IntervalSet(std::move(any));
  }

  IntervalSet times_of_calls() const {
    std::vector<Interval> any;
    for (const CollectiveCall& call : out_.calls) any.push_back({call.begin_ns - base(), call.time().end - base()});
    return IntervalSet(std::move(any));
  }

  void add_kernels() {
    size_t next = 0;
    for (u32 i = 0; i < model_.gpu.size(); i++) {
      const GpuEvent& work = model_.gpu[i];
      if (work.kind() != Kind::kernel || words_.work(work) != Work::communication || !inside(work.begin_ns)) continue;
      i32 op = communication_op(model_, words_, work.op);
      CollectiveCall call = call_of(op >= 0 ? model_.events[op].name : work.name, work.begin_ns, work.dur_ns);
      if (op >= 0) call.bytes = input_bytes(model_.events[op]);
      while (next < model_.collectives.size() && model_.collectives[next].gpu < i) next++;
      if (next < model_.collectives.size() && model_.collectives[next].gpu == i)
        describe(call, model_.collectives[next]);
      out_.calls.push_back(std::move(call));
    }
  }

  void describe(CollectiveCall& call, const Collective& said) const {
    if (said.name) call.op = model_.names[said.name];
    if (said.group) call.group = model_.names[said.group];
    call.sequence = said.sequence;
    call.ranks = said.group_size;
    u32 each = said.dtype ? bytes_of_type(model_.names[said.dtype]) : 0;
    i64 elements = std::max(said.in_elements, said.out_elements);
    if (each && elements >= 0) call.bytes = elements * each;
  }

  // Ranges of NCCL on the host only enqueue its kernels, which this trace lacks.
  void add_operators() {
    for (const Event& e : model_.events) {
      if (!words_.is(e, Word::communication_op) || words_.is(e, Word::nccl_op) || !inside(e.begin_ns)) continue;
      if (communication_op(model_, words_, e.parent) >= 0) continue;  // part of another
      CollectiveCall call = call_of(e.name, e.begin_ns, e.dur_ns);
      call.bytes = input_bytes(e);
      out_.calls.push_back(std::move(call));
    }
  }

  CollectiveCall call_of(u32 name, i64 begin_ns, i64 dur_ns) const {
    CollectiveCall call;
    call.op = model_.names[name];
    call.begin_ns = base() + begin_ns;
    call.dur_ns = dur_ns;
    return call;
  }

  const Model& model_;
  Words words_;
  Windows windows_;
  Rank out_;
};

}  // namespace

Rank rank_of(const Model& model, const std::string& worker) { return Reader(model, worker).run(); }

void sort_ranks(std::vector<Rank>& ranks) {
  std::stable_sort(ranks.begin(), ranks.end(), [](const Rank& a, const Rank& b) {
    if (a.number < 0 || b.number < 0) return a.number > b.number;
    return a.number != b.number ? a.number < b.number : a.worker < b.worker;
  });
}

}  // namespace tprof
