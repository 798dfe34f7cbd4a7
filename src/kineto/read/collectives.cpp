#include "model/collectives.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/nccl.h"
#include "base/sizes.h"
#include "kineto/names.h"
#include "kineto/read/state.h"
#include "model/communication.h"

namespace tprof::kineto {

Collective collective_of(ReadState& state, const EventFields& f) {
  auto text = [&](const char* key) {
    std::string_view found = text_of(f.arg(key));
    return found.empty() ? 0 : state.names(found);
  };
  auto number = [&](const char* key) { return integer_of(f.arg(key)).value_or(-1); };
  Collective c;
  c.name = text(kCollectiveName);
  c.dtype = text(kCollectiveType);
  c.group = text(kGroupName);
  c.group_description = text(kGroupDescription);
  c.group_ranks = text(kGroupRanks);
  c.in_elements = size_or_unknown(double(number(kInElements)));
  c.out_elements = size_or_unknown(double(number(kOutElements)));
  c.group_size = i32(u32_of(f.arg(kGroupSize), kNone));
  c.sequence = number(kGroupSequence);
  c.peer = i32(u32_of(f.arg(kPeer), kNone));
  c.async = i8(u32_of(f.arg(kAsync), 255));
  c.group_rank = i32(u32_of(f.arg(kGroupRank), kNone));
  c.network_ns = number(kNetworkTime);
  return c;
}

// The operator by which torch starts a collective of NCCL, and the functions of NCCL. Torch has it for what is no
// collective, too.
static bool starts_nccl(const Model& model, const Collective& said) {
  const std::string& name = model.name_of(model.events[said.op]);
  return nccl_function(name) || (name == kParamComms && starts_collective(model.names[said.name]));
}

// Operators that call NCCL.
static void find_calls_inside(Model& model, const std::unordered_map<u32, size_t>& by_op) {
  std::vector<char> calls(model.names.size());
  for (size_t i = 0; i < calls.size(); i++) calls[i] = nccl_function(model.names[i]) != nullptr;
  for (const Event& e : model.events) {
    if (!calls[e.name]) continue;
    for (i32 i = e.parent; i >= 0; i = model.events[size_t(i)].parent)
      if (auto op = by_op.find(u32(i)); op != by_op.end()) model.collectives[op->second].by_nccl = true;
  }
}

void find_stated_collectives(ReadState& state, const std::vector<u32>& event_at) {
  Model& model = state.model;
  std::vector<Collective>& all = model.collectives;
  size_t first = all.size();
  std::vector<u32> labels;
  for (const Collective& said : state.stated)
    if (u32 event = event_at[said.op]; is_backend_label(model.name_of(model.events[event]))) labels.push_back(event);
  find_collectives(model, {}, labels);
  std::unordered_map<u32, size_t> found;  // by the event that states it
  for (size_t i = first; i < all.size(); i++) found[all[i].wire != kNone ? all[i].wire : all[i].op] = i;
  std::unordered_map<u32, u32> kernels;  // by correlation
  for (u32 i = 0; i < model.gpu.size(); i++)
    if (model.gpu[i].kind() == Kind::kernel) kernels.emplace(model.gpu[i].correlation, i);
  std::unordered_set<u32> known;  // kernels that state their collective
  for (size_t i = 0; i < first; i++) known.insert(all[i].gpu);
  size_t last = all.size();
  for (Collective said : state.stated) {
    auto kernel = said.gpu ? kernels.find(said.gpu) : kernels.end();
    bool stated_twice = kernel != kernels.end() && known.count(kernel->second);
    said.op = event_at[said.op];
    said.gpu = kernel == kernels.end() || stated_twice ? kNone : kernel->second;
    said.by_nccl = starts_nccl(model, said);
    auto at = found.find(said.op);
    if (at == found.end() && said.by_nccl)  // of the operator around it, which states nothing
      if (i32 parent = model.events[said.op].parent; parent >= 0) at = found.find(u32(parent));
    if (at != found.end()) {
      said.op = all[at->second].op;
      said.wire = all[at->second].wire;
      all[at->second] = said;
      continue;
    }
    if (said.by_nccl && !stated_twice) all.push_back(said);
  }
  if (last > first) find_calls_inside(model, found);
  std::stable_sort(all.begin(), all.end(), [](const Collective& a, const Collective& b) { return a.gpu < b.gpu; });
}

}  // namespace tprof::kineto
