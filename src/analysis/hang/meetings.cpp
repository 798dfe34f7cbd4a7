#include "analysis/hang/meetings.h"

#include <algorithm>
#include <compare>
#include <map>
#include <set>

#include "analysis/ranks/matching.h"

namespace tprof::hang {
namespace {

// The place of a call in its group.
struct Place {
  i64 step = -1, number = -1;
  auto operator<=>(const Place&) const = default;
};

bool is_transfer(const RecentCollective& call) { return call.kind == "send" || call.kind.starts_with("recv"); }

// Each rank sends as much as the others.
bool is_even(const std::string& kind) {
  std::string name = plain_name(kind);
  for (const char* word : {"allreduce", "broadcast", "allgather", "reducescatter"})
    if (name.find(word) != name.npos) return true;
  return false;
}

// The calls of one group, by rank.
struct Group {
  const RecentGroup* any = nullptr;
  std::map<u32, const RecentGroup*> of;
};

class GroupReader {
 public:
  GroupReader(const Job& job, const Group& group) : job_(job), group_(group) {
    auto all = [&](auto test) {
      for (const auto& [rank, own] : group_.of)
        for (const RecentCollective& call : own->calls)
          if (!is_transfer(call) && !test(call)) return false;
      return true;
    };
    by_number_ = all([](const RecentCollective& call) { return call.number >= 0; });
  }

  // Nothing if no rank is in a call that others have not made, or if calls cannot be compared.
  bool read(Meeting& out) {
    if (!find_first()) return false;
    out.group = group_.any->name;
    for (u32 rank : members()) {
      auto own = group_.of.find(rank);
      const RecentCollective* call = own == group_.of.end() ? nullptr : at(*own->second, first_);
      if (call && call->done == 1) continue;
      bool waits = call || (own == group_.of.end() && waits_for_peers(job_.ranks[rank]));
      (waits ? out.waiting : out.late).push_back(rank);
    }
    const RecentCollective& one = *at(*group_.of.at(in_first_), first_);
    out.collective = call_text(one) + (out.group.empty() ? "" : " of group " + out.group);
    compare(out);
    // Of NCCL it is not known whether a call is completed: that all have made it is no sign of anything.
    return one.done == 0 || !out.late.empty() || out.differ != Differ::nothing;
  }

 private:
  Place place(const RecentCollective& call) const {
    if (by_number_) return {0, call.number};
    return call.turn >= 0 ? Place{call.step, call.turn} : Place{};
  }

  const RecentCollective* at(const RecentGroup& own, const Place& wanted) const {
    for (const RecentCollective& call : own.calls)
      if (!is_transfer(call) && place(call) == wanted) return &call;
    return nullptr;
  }

  // The earliest call that a rank has begun and not completed.
  bool find_first() {
    bool any = false;
    for (const auto& [rank, own] : group_.of) {
      const RecentCollective* open = nullptr;
      for (const RecentCollective& call : own->calls)
        if (!is_transfer(call) && call.done == 0 && !open) open = &call;
      if (!open && !own->calls.empty() && own->calls.back().done < 0) open = &own->calls.back();
      if (!open || is_transfer(*open)) continue;
      Place here = place(*open);
      if (here.number < 0) return false;
      if (any && here >= first_) continue;
      first_ = here;
      in_first_ = rank;
      any = true;
    }
    return any;
  }

  // Indices of the ranks of the group, as far as the job has them.
  std::vector<u32> members() const {
    std::vector<i32> numbers = rank_numbers(group_.any->ranks);
    std::vector<u32> out;
    for (u32 i = 0; i < job_.ranks.size(); i++) {
      bool named = std::find(numbers.begin(), numbers.end(), job_.ranks[i].number) != numbers.end();
      if (numbers.empty() ? group_.of.contains(i) : named) out.push_back(i);
    }
    return out;
  }

  void compare(Meeting& out) const {
    std::set<std::string> kinds, sizes;
    std::string text;
    for (u32 rank : out.waiting) {
      auto own = group_.of.find(rank);
      const RecentCollective* call = own == group_.of.end() ? nullptr : at(*own->second, first_);
      if (!call) continue;
      kinds.insert(plain_name(call->kind));
      std::string size = std::to_string(call->elements) + " " + call->dtype;
      if (is_even(call->kind) && call->elements >= 0) sizes.insert(size);
      text += (text.empty() ? "" : ", ") + name_of(job_.ranks[rank]) + " is in " + call_text(*call);
      if (call->elements >= 0) text += " of " + size;
    }
    if (kinds.size() < 2 && sizes.size() < 2) return;
    out.differ = kinds.size() > 1 ? Differ::kinds : Differ::sizes;
    out.calls = text + (out.group.empty() ? "" : ", all of group " + out.group);
  }

  const Job& job_;
  const Group& group_;
  bool by_number_ = false;
  Place first_;
  u32 in_first_ = 0;
};

// A rank that receives from, or sends to, a rank that does something else.
void add_transfers(const Job& job, std::vector<Meeting>& out) {
  for (u32 r = 0; r < job.ranks.size(); r++) {
    if (!job.ranks[r].now.records) continue;
    for (const RecentGroup& group : job.ranks[r].now.groups) {
      if (group.calls.empty() || !is_transfer(group.calls.back()) || group.calls.back().done != 0) continue;
      const RecentCollective& call = group.calls.back();
      std::vector<i32> members = rank_numbers(group.ranks);
      bool known = call.peer >= 0 && size_t(call.peer) < members.size();
      for (u32 peer = 0; known && peer < job.ranks.size(); peer++)
        if (job.ranks[peer].number == members[size_t(call.peer)] && peer != r)
          out.push_back({group.name, call.kind, {r}, {peer}});
    }
  }
}

}  // namespace

std::string name_of(const Rank& rank) {
  return rank.number < 0 ? "process " + std::to_string(rank.process.pid) : rank_text(rank.number, rank.host);
}

bool waits_for_peers(const Rank& rank) {
  return std::any_of(rank.process.threads.begin(), rank.process.threads.end(),
                     [](const Thread& t) { return t.main && t.wait == Wait::peers; });
}

std::string call_text(const RecentCollective& call) {
  if (call.number >= 0) return call.kind + " " + std::to_string(call.number);
  if (call.turn >= 0) return call.kind + " " + std::to_string(call.turn) + " of step " + std::to_string(call.step);
  return call.kind;
}

std::vector<Meeting> meetings_of(const Job& job) {
  std::map<std::pair<std::string, std::string>, Group> groups;  // by name and members
  for (u32 r = 0; r < job.ranks.size(); r++) {
    if (!job.ranks[r].now.records) continue;
    for (const RecentGroup& group : job.ranks[r].now.groups) {
      Group& all = groups[{group.name, group.ranks}];
      all.any = &group;
      all.of[r] = &group;
    }
  }
  std::vector<Meeting> out;
  for (const auto& [key, group] : groups) {
    Meeting one;
    if (GroupReader(job, group).read(one)) out.push_back(std::move(one));
  }
  add_transfers(job, out);
  return out;
}

}  // namespace tprof::hang
