#include "model/nccl.h"

#include <stdio.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "base/sizes.h"
#include "model/communication.h"

namespace tprof {
namespace {

i64 amount_of(NcclAmount amount, const NcclDetail& d) {
  if (amount == NcclAmount::none) return -1;
  if (amount == NcclAmount::count) return size_or_unknown(double(d.count));
  return d.ranks ? size_or_unknown(double(d.count) * d.ranks) : -1;
}

bool is_operation(const Model& model, const Event& e) {
  return (e.flags & kEventNccl) && nccl_function(model.name_of(e));
}

class NcclFinder {
 public:
  explicit NcclFinder(Model& model) : model_(model) {}

  void run() {
    std::vector<u32> order(model_.events.size());
    std::iota(order.begin(), order.end(), 0);
    launches_ = nccl_launches(model_, order);
    if (launches_.empty()) return;
    for (u32 i = 0; i < model_.collectives.size(); i++)
      if (model_.collectives[i].op != kNone) by_op_[model_.collectives[i].op] = i;
    find_kernels();
    for (const NcclLaunch& launch : launches_) add(launch);
    std::stable_sort(model_.collectives.begin(), model_.collectives.end(),
                     [](const Collective& a, const Collective& b) { return a.gpu < b.gpu; });
  }

 private:
  // The kernels of each launch, by the calls that were made inside of it.
  void find_kernels() {
    std::unordered_map<u32, std::vector<u32>> by_owner;
    for (u32 i = 0; i < launches_.size(); i++) by_owner[launches_[i].owner].push_back(i);
    kernels_.resize(launches_.size());
    for (u32 i = 0; i < model_.gpu.size(); i++) {
      const GpuEvent& work = model_.gpu[i];
      if (work.kind() != Kind::kernel || work.call == kNone) continue;
      if (model_.names[work.name].find("nccl") == std::string::npos) continue;
      const CallEvent& call = model_.calls[work.call];
      auto own = by_owner.find(model_.threads[call.thread].owner);
      if (own == by_owner.end()) continue;
      i64 ns = call.seen & kSeenByUs ? call.at_ns : call.begin_ns + call.dur_ns / 2;
      auto after = std::upper_bound(own->second.begin(), own->second.end(), ns,
                                    [&](i64 at, u32 launch) { return at < launches_[launch].begin_ns; });
      if (after == own->second.begin()) continue;
      u32 launch = *(after - 1);
      if (ns <= launches_[launch].end_ns) kernels_[launch].push_back(i);
    }
  }

  // Of several kernels the first that is named for the operation; NCCL has one name for sends and receives.
  u32 kernel_of(const std::vector<u32>& kernels, const NcclFunction& function) const {
    if (kernels.size() < 2) return kernels.empty() ? kNone : kernels[0];
    std::string_view word = function.is_pair() ? "SendRecv" : function.name;
    for (u32 kernel : kernels)
      if (model_.names[model_.gpu[kernel].name].find(word) != std::string::npos) return kernel;
    return kernels[0];
  }

  void add(const NcclLaunch& launch) {
    const std::vector<u32>& kernels = kernels_[size_t(&launch - launches_.data())];
    for (u32 event : launch.operations) {
      const Event& e = model_.events[event];
      u32 kernel = kernel_of(kernels, *nccl_function(model_.name_of(e)));
      Collective* of_torch = operator_around(event);
      if (!of_torch) {
        model_.collectives.push_back(collective_of(event));
        model_.collectives.back().gpu = kernel;
        continue;
      }
      if (of_torch->gpu == kNone) of_torch->gpu = kernel;
      of_torch->by_nccl = true;
      of_torch->group_rank = e.nccl->rank;
      of_torch->network_ns = std::max(of_torch->network_ns, e.nccl->network_ns);
      if (of_torch->group_size < 0 && e.nccl->ranks) of_torch->group_size = i32(e.nccl->ranks);
    }
  }

  Collective* operator_around(u32 event) {
    for (i32 i = model_.events[event].parent; i >= 0; i = model_.events[u32(i)].parent)
      if (auto found = by_op_.find(u32(i)); found != by_op_.end()) return &model_.collectives[found->second];
    return nullptr;
  }

  u32 name(std::string_view text) {
    if (text.empty()) return 0;
    auto [at, added] = names_.try_emplace(std::string(text), u32(model_.names.size()));
    if (added) model_.names.emplace_back(text);
    return at->second;
  }

  Collective collective_of(u32 event) {
    const Event& e = model_.events[event];
    const NcclDetail& d = *e.nccl;
    const NcclFunction& function = *nccl_function(model_.name_of(e));
    Collective c;
    c.op = event;
    c.name = name(function.collective);
    c.dtype = name(dtype_word(nccl_dtype(d.type)));
    if (d.group) {
      char text[24];
      snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(d.group));
      c.group = name(text);
    }
    c.in_elements = amount_of(function.sent, d);
    c.out_elements = amount_of(function.received, d);
    c.group_size = d.ranks ? i32(d.ranks) : -1;
    c.group_rank = d.rank;
    c.peer = d.peer;
    c.sequence = d.number;
    c.network_ns = d.network_ns;
    c.by_nccl = true;
    return c;
  }

  Model& model_;
  std::vector<NcclLaunch> launches_;
  std::vector<std::vector<u32>> kernels_;  // of each launch: indices into Model::gpu
  std::unordered_map<u32, u32> by_op_;     // collectives by their operator
  std::unordered_map<std::string, u32> names_;
};

}  // namespace

NcclDetail nccl_detail(const NcclPart& part, const CallRecord& call) {
  NcclDetail d;
  d.group = part.group;
  d.number = part.number;
  d.count = i64(std::min<u64>(call.bytes, INT64_MAX));
  d.peer = part.peer;
  d.rank = part.rank;
  d.ranks = part.ranks;
  d.type = call.detail;
  return d;
}

std::vector<NcclLaunch> nccl_launches(const Model& model, const std::vector<u32>& order) {
  struct Group {
    u32 depth = 0;
    std::vector<u32> waiting;
  };
  std::unordered_map<u32, Group> groups;  // by owner
  std::vector<NcclLaunch> out;
  for (u32 i : order) {
    const Event& e = model.events[i];
    if (e.scope != u8(Scope::user) || (e.flags & (kEventStep | kEventNvtx | kEventPython))) continue;
    const std::string& name = model.name_of(e);
    if (!name.starts_with("nccl")) continue;
    u32 owner = model.threads[e.thread].owner;
    Group& group = groups[owner];
    if (is_operation(model, e)) {
      if (group.depth)
        group.waiting.push_back(i);
      else
        out.push_back({owner, e.begin_ns, e.end_ns(), {i}});
    } else if (name == "ncclGroupStart") {
      group.depth++;
    } else if (name == "ncclGroupEnd" || name == "ncclGroupSimulateEnd") {
      if (group.depth && --group.depth) continue;
      if (!group.waiting.empty() && name == "ncclGroupEnd")
        out.push_back({owner, e.begin_ns, e.end_ns(), std::move(group.waiting)});
      group.waiting.clear();
    }
  }
  for (auto& [owner, group] : groups)  // a group that the span cuts off: its kernels are not in it
    if (!group.waiting.empty()) {
      i64 begin = model.events[group.waiting[0]].begin_ns;
      out.push_back({owner, begin, begin, std::move(group.waiting)});
    }
  std::stable_sort(out.begin(), out.end(),
                   [](const NcclLaunch& a, const NcclLaunch& b) { return a.begin_ns < b.begin_ns; });
  // What only NCCL's profiler interface has seen has no end: it launches until the next one of its thread does.
  std::unordered_map<u32, i64> next;
  for (size_t i = out.size(); i-- > 0;) {
    NcclLaunch& launch = out[i];
    i64& limit = next.try_emplace(launch.owner, INT64_MAX).first->second;
    if (!model.events[launch.operations[0]].nccl->called) launch.end_ns = limit;
    limit = launch.begin_ns;
  }
  return out;
}

void find_nccl_operations(Model& model) { NcclFinder(model).run(); }

}  // namespace tprof
