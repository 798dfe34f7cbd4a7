#include "model/collectives.h"

#include <unordered_map>

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
  c.in_elements = number(kInElements);
  c.out_elements = number(kOutElements);
  c.group_size = i32(u32_of(f.arg(kGroupSize), kNone));
  c.sequence = number(kGroupSequence);
  c.peer = i32(u32_of(f.arg(kPeer), kNone));
  c.async = i8(u32_of(f.arg(kAsync), 255));
  return c;
}

void find_stated_collectives(ReadState& state, const std::vector<u32>& event_at) {
  std::vector<Collective>& all = state.model.collectives;
  size_t first = all.size();
  std::unordered_map<u32, const Collective*> stated;
  std::vector<u32> labels;
  for (const Collective& c : state.stated) {
    u32 event = event_at[c.op];
    stated[event] = &c;
    if (is_backend_label(state.model.names[state.model.events[event].name])) labels.push_back(event);
  }
  find_collectives(state.model, {}, labels);
  for (size_t i = first; i < all.size(); i++) {
    auto said = stated.find(all[i].wire != kNone ? all[i].wire : all[i].op);
    if (said == stated.end()) continue;
    Collective c = *said->second;
    c.op = all[i].op;
    c.wire = all[i].wire;
    all[i] = c;
  }
}

}  // namespace tprof::kineto
