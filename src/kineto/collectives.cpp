#include "kineto/collectives.h"

#include "kineto/names.h"

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
  number(kPeer, c.peer);
  number(kAsync, c.async);
  return out;
}

}  // namespace

CollectiveArguments::CollectiveArguments(const Model& model) : model_(model) {
  for (const Collective& c : model.collectives)
    if (c.gpu != kNone)
      by_kernel_.emplace(c.gpu, &c);
    else
      by_event_.emplace(c.wire != kNone ? c.wire : c.op, &c);
}

std::vector<Argument> CollectiveArguments::found(const Index& in, u32 index) const {
  if (in.empty()) return {};
  auto at = in.find(index);
  return at == in.end() ? std::vector<Argument>() : arguments_of(model_, *at->second);
}

}  // namespace tprof::kineto
