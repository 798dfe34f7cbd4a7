// What NCCL's profiler interface said, joined with the calls that interposed functions have seen.
#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "model/nccl.h"

namespace tprof {
namespace {

constexpr i64 kSlackNs = 1000;  // how far a report may lie outside of the call in which it was made

// Of the transfers of an operation, the time in which at least one was under way; -1: it has none.
i64 busy_ns(std::vector<NcclReports::Wire> wires) {
  if (wires.empty()) return -1;
  std::sort(wires.begin(), wires.end(), [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
  i64 sum = 0, end = INT64_MIN;
  for (const NcclReports::Wire& wire : wires) {
    if (wire.end_ns > end) sum += wire.end_ns - std::max(end, wire.begin_ns);
    end = std::max(end, wire.end_ns);
  }
  return sum;
}

class Joiner {
 public:
  Joiner(Model& model, NcclReports& reports) : model_(model), reports_(reports) {}

  void run() {
    std::vector<u32> order(model_.events.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](u32 a, u32 b) { return model_.events[a].begin_ns < model_.events[b].begin_ns; });
    for (NcclLaunch& launch : nccl_launches(model_, order)) launches_[launch.owner].push_back(std::move(launch));
    for (const NcclReports::Operation& report : reports_.operations) {
      NcclDetail* call = call_of(report);
      if (call)
        take(*call, report.record);
      else
        add_event(report);
    }
    for (auto& [call, wires] : wires_) call->network_ns = busy_ns(std::move(wires));
  }

 private:
  // The first call of the launch around the report that looks alike and has no report yet.
  NcclDetail* call_of(const NcclReports::Operation& report) {
    auto own = launches_.find(model_.threads[report.thread].owner);
    if (own == launches_.end()) return nullptr;
    auto& all = own->second;
    auto after = std::upper_bound(all.begin(), all.end(), report.ns + kSlackNs,
                                  [](i64 ns, const NcclLaunch& launch) { return ns < launch.begin_ns; });
    if (after == all.begin() || (after - 1)->end_ns + kSlackNs < report.ns) return nullptr;
    for (u32 i : (after - 1)->operations)
      if (const Event& e = model_.events[i]; !e.nccl->reported && alike(e, report.record)) return detail_of(e);
    for (u32 i : (after - 1)->operations)
      if (const Event& e = model_.events[i]; is_made_of(e, report.record)) return detail_of(e);
    return nullptr;
  }

  // The Model's own, in its arena.
  static NcclDetail* detail_of(const Event& e) { return const_cast<NcclDetail*>(e.nccl); }

  // NCCL makes these of sends and receives, and reports them.
  bool is_made_of(const Event& e, const NcclOpRecord& r) const {
    if (r.function >= std::size(kNcclFunctions) || !kNcclFunctions[r.function].is_pair()) return false;
    std::string_view collective = nccl_function(model_.name_of(e))->collective;
    return collective == "all_to_all" || collective == "gather" || collective == "scatter";
  }

  bool alike(const Event& e, const NcclOpRecord& r) const {
    const NcclFunction* called = nccl_function(model_.name_of(e));
    bool same = r.function < std::size(kNcclFunctions) && called->collective == kNcclFunctions[r.function].collective;
    return same && u64(e.nccl->count) == r.count && (!called->is_pair() || e.nccl->peer == r.peer);
  }

  void take(NcclDetail& d, const NcclOpRecord& r) {
    d.reported = true;
    d.algorithm = r.algorithm;
    d.protocol = r.protocol;
    if (d.rank < 0) d.rank = r.rank;
    if (!d.ranks) d.ranks = r.ranks;
    auto wires = reports_.wires.find(r.head.id);
    if (wires == reports_.wires.end()) return;
    std::vector<NcclReports::Wire>& all = wires_[&d];
    all.insert(all.end(), wires->second.begin(), wires->second.end());
  }

  // NCCL was called past the interposed functions, or launches on a thread of its own.
  void add_event(const NcclReports::Operation& report) {
    const NcclOpRecord& r = report.record;
    if (r.function >= std::size(kNcclFunctions)) {
      model_.ledger.dropped["nccl_unknown"]++;
      return;
    }
    NcclDetail d;
    d.called = false;
    d.group = r.group;
    bool pair = kNcclFunctions[r.function].is_pair();
    d.number = pair ? -1 : i64(std::min<u64>(r.number, INT64_MAX - 1)) + 1;
    d.count = i64(std::min<u64>(r.count, INT64_MAX));
    d.peer = r.peer;
    d.type = r.type;
    Event e;
    e.name = name("nccl" + std::string(kNcclFunctions[r.function].name));
    e.begin_ns = report.ns;
    e.thread = report.thread;
    e.scope = u8(Scope::user);
    e.flags = kEventNccl;
    e.nccl = model_.arena.copy(d);
    take(*detail_of(e), r);
    model_.events.push_back(e);
  }

  u32 name(const std::string& text) {
    auto [at, added] = names_.try_emplace(text, u32(model_.names.size()));
    if (added) model_.names.push_back(text);
    return at->second;
  }

  Model& model_;
  NcclReports& reports_;
  std::unordered_map<u32, std::vector<NcclLaunch>> launches_;  // by owner, in order of time
  std::unordered_map<NcclDetail*, std::vector<NcclReports::Wire>> wires_;
  std::unordered_map<std::string, u32> names_;
};

}  // namespace

void join_nccl_reports(Model& model, NcclReports& reports) {
  if (!reports.operations.empty()) Joiner(model, reports).run();
}

}  // namespace tprof
