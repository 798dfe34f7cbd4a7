#include "kineto/collectives.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/dtypes.h"
#include "kineto/names.h"
#include "model/communication.h"
#include "model/input_cursor.h"

namespace tprof::kineto {
namespace {

constexpr size_t kMaxRanks = 30;  // as in torch: a longer list ends in "..."

// "[0, 1, ...]"
std::string shortened(const std::string& ranks) {
  size_t at = 0;
  for (size_t count = 0; count < kMaxRanks; count++) {
    at = ranks.find(',', at);
    if (at == ranks.npos) return ranks;
    at++;
  }
  return ranks.substr(0, at) + " ...]";
}

std::vector<Argument> arguments_of(const Model& model, const Collective& c) {
  std::vector<Argument> out;
  auto name = [&](const char* key, u32 index) {
    if (index) out.push_back({key, model.names[index]});
  };
  auto number = [&](const char* key, i64 value) {
    if (value >= 0) out.push_back({key, std::to_string(value), true});
  };
  name(kCollectiveName, c.name);
  number(kInElements, c.in_elements);
  number(kOutElements, c.out_elements);
  number(kGroupSize, c.group_size);
  name(kCollectiveType, c.dtype);
  number(kGroupSequence, c.sequence);
  name(kGroupName, c.group);
  name(kGroupDescription, c.group_description);
  if (c.group_ranks) out.push_back({kGroupRanks, shortened(model.names[c.group_ranks])});
  number(kGroupRank, c.group_rank);
  number(kPeer, c.peer);
  number(kAsync, c.async);
  number(kNetworkTime, c.network_ns);
  return out;
}

// A kernel may carry out several operations of NCCL. What it cannot say is said by their calls.
bool shares_kernel(const std::vector<Collective>& all, size_t i) {
  return (i > 0 && all[i - 1].gpu == all[i].gpu) || (i + 1 < all.size() && all[i + 1].gpu == all[i].gpu);
}

// What the inputs of record_param_comms say. The size of the group is the last number behind the word, since torch 2.2.
struct ParamComms {
  explicit ParamComms(const Event& e) {
    InputCursor inputs(e);
    for (std::optional<Input> input; (input = inputs.next());) {
      if (input->tag == InputTag::string && word.empty()) word = input->text;
      if (input->tag == InputTag::tensor_list) tensors = *input;
      if (input->tag == InputTag::integer && !word.empty()) ranks = input->integer;
    }
  }

  std::vector<Argument> arguments() const {
    if (word.empty()) return {};
    std::vector<Argument> out = {{kCollectiveName, std::string(word)}};
    if (ranks > 0) out.push_back({kGroupSize, std::to_string(ranks), true});
    if (tensors.tag == InputTag::none || tensors.elements == 0) {
      out.push_back({kInElements, "0", true});
      out.push_back({kOutElements, "0", true});
      out.push_back({kCollectiveType, "Byte"});  // what torch says of no tensors
    } else if (tensors.dtype != kDtypeUnknown) {
      out.push_back({kCollectiveType, std::string(dtype_word(tensors.dtype))});
    }
    return out;
  }

  std::string_view word;
  Input tensors;
  i64 ranks = 0;  // 0: not said
};

}  // namespace

CollectiveArguments::CollectiveArguments(const Model& model) : model_(model) {
  for (size_t i = 0; i < model.collectives.size(); i++) {
    const Collective& c = model.collectives[i];
    if (c.gpu != kNone && !shares_kernel(model.collectives, i)) by_kernel_.emplace(c.gpu, &c);
    if (c.gpu == kNone || c.by_nccl) by_event_.emplace(c.wire != kNone ? c.wire : c.op, &c);
  }
  move_to_param_comms();
}

void CollectiveArguments::move_to_param_comms() {
  const std::vector<std::string>& names = model_.names;
  auto name = u32(std::find(names.begin(), names.end(), kParamComms) - names.begin());
  if (name == names.size()) return;
  param_comms_ = name;
  std::set<u32> moved;
  for (u32 i = 0; i < model_.events.size(); i++) {
    const Event& e = model_.events[i];
    if (e.name != name || by_event_.count(i)) continue;
    if (e.parent < 0 || !starts_collective(ParamComms(e).word)) continue;
    auto around = by_event_.find(u32(e.parent));
    if (around == by_event_.end()) continue;
    moved.insert(around->first);
    by_event_.emplace(i, around->second);
  }
  for (u32 op : moved) by_event_.erase(op);
}

std::vector<Argument> CollectiveArguments::of_event(u32 index) const {
  std::vector<Argument> out = found(by_event_, index);
  if (u32 gpu = out.empty() ? kNone : by_event_.at(index)->gpu; gpu != kNone && model_.gpu[gpu].correlation)
    out.push_back({kKernelCorrelation, std::to_string(model_.gpu[gpu].correlation), true});
  if (model_.events[index].name != param_comms_) return out;
  for (Argument& said : ParamComms(model_.events[index]).arguments())
    if (std::none_of(out.begin(), out.end(), [&](const Argument& a) { return a.key == said.key; }))
      out.push_back(std::move(said));
  return out;
}

std::vector<Argument> CollectiveArguments::found(const Index& in, u32 index) const {
  if (in.empty()) return {};
  auto at = in.find(index);
  return at == in.end() ? std::vector<Argument>() : arguments_of(model_, *at->second);
}

}  // namespace tprof::kineto
