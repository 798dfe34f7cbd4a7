#include "analysis/distributed.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>

#include "analysis/tensors.h"
#include "analysis/variability.h"
#include "base/dtypes.h"

namespace tprof {
namespace {

// Letters only, small: "nccl:_all_reduce", "ALLREDUCE" and "allreduce" are alike.
std::string plain(std::string_view text) {
  std::string out;
  for (char c : text)
    if (isalpha(static_cast<unsigned char>(c))) out += char(tolower(c));
  return out;
}

bool has(const std::string& op, const char* word) { return op.find(word) != op.npos; }

// What a byte costs on the wires, over what it counts.
double bus_factor(const std::string& op, double n) {
  if (n < 2) return 1;
  if (has(op, "allreduce")) return 2 * (n - 1) / n;
  return has(op, "reducescatter") || has(op, "allgather") || has(op, "alltoall") ? (n - 1) / n : 1;
}

bool waits_for_all(const std::string& op) {
  return !has(op, "send") && !has(op, "recv") && !has(op, "alltoallv") && !has(op, "pt2pt");
}

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

class Reader {
 public:
  Reader(const Model& model, const std::string& name) : model_(model), words_(model), windows_(windows_of(model)) {
    out_.name = name;
    out_.steps = windows_.steps.size();
    out_.span_ns = windows_.time.length();
  }

  Rank run() {
    for (const auto& [device, sets] : gpu_sets(model_, words_)) {
      i64 both = length_of(sets.computation & sets.communication);
      i64 computing = length_of(sets.computation), communicating = length_of(sets.communication);
      out_.computation_ns += computing - both;
      out_.overlap_ns += both;
      out_.communication_ns += communicating - both;
      out_.other_ns += out_.span_ns - computing - communicating + both;
    }
    add_kernels();
    out_.on_gpu = !out_.calls.empty();
    if (!out_.on_gpu) add_operators();
    std::stable_sort(out_.calls.begin(), out_.calls.end(),
                     [](const CollectiveCall& a, const CollectiveCall& b) { return a.begin_ns < b.begin_ns; });
    return std::move(out_);
  }

 private:
  bool inside(i64 ns) const { return windows_.holds(ns); }
  i64 length_of(const IntervalSet& set) const { return (set & windows_.time).length(); }

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

  void add_operators() {
    std::vector<Interval> busy;
    for (const Event& e : model_.events) {
      if (!words_.is(e, Word::communication_op) || !inside(e.begin_ns)) continue;
      if (communication_op(model_, words_, e.parent) >= 0) continue;  // part of another
      CollectiveCall call = call_of(e.name, e.begin_ns, e.dur_ns);
      call.bytes = input_bytes(e);
      out_.calls.push_back(std::move(call));
      busy.push_back({e.begin_ns, e.end_ns()});
    }
    out_.communication_ns = length_of(IntervalSet(std::move(busy)));
    out_.other_ns = out_.span_ns - out_.communication_ns;
  }

  CollectiveCall call_of(u32 name, i64 begin_ns, i64 dur_ns) const {
    CollectiveCall call;
    call.op = model_.names[name];
    call.begin_ns = static_cast<i64>(model_.base_time_ns) + begin_ns;
    call.dur_ns = dur_ns;
    return call;
  }

  const Model& model_;
  Words words_;
  Windows windows_;
  Rank out_;
};

struct Member {
  u32 rank;
  const CollectiveCall* call;
};
using Key = std::tuple<std::string, std::string, i64>;  // group, operator, sequence or index

// By key; ranks in order.
std::map<Key, std::vector<Member>> align(const std::vector<Rank>& ranks) {
  std::map<Key, std::vector<Member>> out;
  for (u32 r = 0; r < ranks.size(); r++) {
    std::map<std::pair<std::string, std::string>, i64> index;
    for (const CollectiveCall& call : ranks[r].calls) {
      i64 number = index[{call.group, call.op}]++;
      out[{call.group, call.op, call.sequence >= 0 ? call.sequence : number}].push_back({r, &call});
    }
  }
  return out;
}

void find_stragglers(Distributed& out, const std::vector<Rank>& ranks) {
  std::vector<i64> late, apart;
  for (const RankWait& wait : out.waits) late.push_back(wait.late_ns);
  i64 median = median_of(late);
  for (i64 x : late) apart.push_back(std::abs(x - median));
  double mad = std::max(1.0, double(median_of(apart)));
  for (RankWait& wait : out.waits) {
    wait.late_z = 0.6745 * double(wait.late_ns - median) / mad;
    wait.straggler =
        wait.late_z > kStragglerZ && double(wait.late_ns) > kStragglerShare * double(ranks[wait.rank].span_ns);
  }
}

}  // namespace

Rank rank_of(const Model& model, const std::string& name) { return Reader(model, name).run(); }

Distributed distributed(const std::vector<Rank>& ranks) {
  Distributed out;
  if (ranks.size() > 1)
    for (u32 r = 0; r < ranks.size(); r++) out.waits.push_back({r});
  else
    out.notes.push_back("traces of one rank only: what of a collective is waiting for others is not known");
  std::map<std::pair<std::string, std::string>, CommunicationRow> rows;
  std::map<std::pair<std::string, std::string>, i64> sized_transfer;  // of collectives whose size is known
  for (const auto& [key, members] : align(ranks)) {
    const auto& [group, op, number] = key;
    CommunicationRow& row = rows[{group, op}];
    const CollectiveCall& first = *members[0].call;
    bool matched = members.size() > 1 && members.size() == (first.ranks > 0 ? size_t(first.ranks) : ranks.size());
    if (ranks.size() > 1 && !matched) out.unmatched += members.size();
    row.op = op;
    row.group = group;
    row.ranks = std::max({row.ranks, i32(members.size()), first.ranks});
    row.waits &= matched && waits_for_all(plain(op));
    row.collectives++;
    i64 least = INT64_MAX, most = 0, begin = INT64_MAX, last = INT64_MIN;
    for (const Member& m : members) {
      least = std::min(least, m.call->dur_ns);
      most = std::max(most, m.call->dur_ns);
      begin = std::min(begin, m.call->begin_ns);
      last = std::max(last, m.call->begin_ns);
    }
    if (first.bytes >= 0) {
      row.bytes += first.bytes;
      sized_transfer[{group, op}] += least;
    } else {
      row.unknown_size++;
    }
    bool waits = matched && waits_for_all(plain(op));
    if (waits) row.longest_skew_ns = std::max(row.longest_skew_ns, last - begin);
    for (const Member& m : members) {
      row.calls++;
      row.total_ns += m.call->dur_ns;
      row.transfer_ns += waits ? least : m.call->dur_ns;
      if (!waits) continue;
      out.waits[m.rank].wait_ns += m.call->dur_ns - least;
      out.waits[m.rank].late_ns += most - m.call->dur_ns;
    }
  }
  for (auto& [key, row] : rows) {
    if (i64 ns = sized_transfer[key]; ns > 0) {
      row.alg_gbps = double(row.bytes) / double(ns);
      row.bus_gbps = row.alg_gbps * bus_factor(plain(row.op), row.ranks);
    }
    out.rows.push_back(row);
  }
  std::stable_sort(out.rows.begin(), out.rows.end(),
                   [](const CommunicationRow& a, const CommunicationRow& b) { return a.total_ns > b.total_ns; });
  if (out.unmatched)
    out.notes.push_back(std::to_string(out.unmatched) + " calls of collectives are not in the traces of all ranks");
  find_stragglers(out, ranks);
  return out;
}

}  // namespace tprof
