#include "kineto/write/collectives.h"

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

}  // namespace

CollectiveText::CollectiveText(const Model& model, OutputFile& out) : model_(model), out_(out) {
  for (const Collective& c : model.collectives)
    if (c.gpu == kNone) by_event_.emplace(c.wire != kNone ? c.wire : c.op, &c);
}

void CollectiveText::put(u32 event) {
  if (by_event_.empty()) return;
  auto found = by_event_.find(event);
  if (found == by_event_.end()) return;
  const Collective& c = *found->second;
  auto text = [&](const char* key, const std::string& value) {
    out_.put("\"");
    out_.put(key);
    out_.put("\": " + json_ascii(value) + ", ");
  };
  auto name = [&](const char* key, u32 index) {
    if (index) text(key, model_.names[index]);
  };
  auto number = [&](const char* key, i64 value) {
    if (value < 0) return;
    out_.put("\"");
    out_.put(key);
    out_.put("\": ");
    out_.put_number(value);
    out_.put(", ");
  };
  name(kCollectiveName, c.name);
  number(kInElements, c.in_elements);
  number(kOutElements, c.out_elements);
  number(kGroupSize, c.group_size);
  name(kCollectiveType, c.dtype);
  number(kGroupSequence, c.sequence);
  name(kGroupName, c.group);
  name(kGroupDescription, c.group_description);
  if (c.group_ranks) text(kGroupRanks, shortened(model_.names[c.group_ranks]));
  number(kPeer, c.peer);
  number(kAsync, c.async);
}

}  // namespace tprof::kineto
