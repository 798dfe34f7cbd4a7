#include "analysis/ranks/groups.h"

#include <map>

namespace tprof {
namespace {

bool is_unlisted(const CollectiveCall& call) { return call.group_rank >= 0 && call.group_ranks.empty(); }

// "[0, 2]", by number in the group; empty: a member is not known.
std::string list_of(const std::map<i32, i32>& members, i32 size) {
  if (i64(members.size()) != size) return "";
  std::string out;
  for (const auto& [place, number] : members) out += (out.empty() ? "[" : ", ") + std::to_string(number);
  return out + "]";
}

}  // namespace

void learn_groups(std::vector<Rank>& ranks) {
  struct Group {
    std::map<i32, i32> members;  // number in the group -> number in the job
    i32 size = 0;
  };
  std::map<std::string, Group> groups;
  for (const Rank& rank : ranks)
    for (const CollectiveCall& call : rank.calls) {
      if (!is_unlisted(call) || call.group.empty() || rank.number < 0) continue;
      Group& group = groups[call.group];
      group.members[call.group_rank] = rank.number;
      group.size = call.ranks;
    }
  for (Rank& rank : ranks)
    for (CollectiveCall& call : rank.calls) {
      if (!is_unlisted(call)) continue;
      auto group = groups.find(call.group);
      if (group != groups.end()) call.group_ranks = list_of(group->second.members, group->second.size);
      if (call.group_ranks.empty()) call.peer = -1;
    }
}

}  // namespace tprof
