#include "analysis/hang/meetings.h"

#include <algorithm>
#include <compare>
#include <map>
#include <optional>
#include <set>

#include "analysis/ranks/matching.h"
#include "model/collectives.h"

namespace tprof::hang {
namespace {

// The place of a call in its group.
struct Place {
  i64 step = -1, number = -1;
  auto operator<=>(const Place&) const = default;
};

// Each rank has to send as much as the others. NCCL takes lists of tensors (all_gather, reduce_scatter) of any sizes.
bool is_even(const std::string& kind) {
  std::string name = plain_name(kind);
  if (name.starts_with("allreduce") || name.starts_with("broadcast")) return true;
  if (name.starts_with("reduce") && !name.starts_with("reducescatter")) return true;
  return name.ends_with("base") || name.ends_with("tensorcoalesced");
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
          if (!is_transfer(call.kind) && !test(call)) return false;
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
      if (!is_transfer(call.kind) && place(call) == wanted) return &call;
    return nullptr;
  }

  static const RecentCollective* last_of(const RecentGroup& own) {
    auto last = std::find_if(own.calls.rbegin(), own.calls.rend(), [](auto& call) { return !is_transfer(call.kind); });
    return last == own.calls.rend() ? nullptr : &*last;
  }

  // The earliest call that a rank has begun and not completed.
  bool find_first() {
    const RecentCollective* first = nullptr;
    for (const auto& [rank, own] : group_.of) {
      const RecentCollective *open = nullptr, *last = last_of(*own);
      for (const RecentCollective& call : own->calls)
        if (!is_transfer(call.kind) && call.done == 0 && !open) open = &call;
      if (!open && last && last->done < 0) open = last;
      if (!open) continue;
      Place here = place(*open);
      if (here.number < 0) return false;
      if (first && here >= first_) continue;
      first = open;
      first_ = here;
      in_first_ = rank;
    }
    if (first && first->done < 0) find_beyond();
    return first;
  }

  // Of NCCL it is not known which calls are completed. Those that all ranks have made are no sign of anything: if one
  // has made more, the meeting is the first of these.
  void find_beyond() {
    std::optional<Place> all;
    for (const auto& [rank, own] : group_.of)
      if (const RecentCollective* last = last_of(*own)) all = std::min(all.value_or(place(*last)), place(*last));
    std::optional<Place> beyond;
    for (const auto& [rank, own] : group_.of)
      for (const RecentCollective& call : own->calls) {
        Place here = place(call);
        if (is_transfer(call.kind) || here.number < 0 || here <= *all || (beyond && here >= *beyond)) continue;
        beyond = here;
        in_first_ = rank;
      }
    if (beyond) first_ = *beyond;
  }

  // Indices of the ranks of the group, as far as the job has them.
  std::vector<u32> members() const {
    std::vector<i32> named = rank_numbers(group_.any->ranks);
    std::set<i32> numbers(named.begin(), named.end());
    std::vector<u32> out;
    for (u32 i = 0; i < job_.ranks.size(); i++)
      if (numbers.empty() ? group_.of.contains(i) : numbers.contains(job_.ranks[i].number)) out.push_back(i);
    return out;
  }

  void compare(Meeting& out) const {
    std::set<std::string> kinds, sizes;
    std::string text;
    bool current = false;  // one of them may still be in it
    for (u32 rank : out.waiting) {
      auto own = group_.of.find(rank);
      const RecentCollective* call = own == group_.of.end() ? nullptr : at(*own->second, first_);
      if (!call) continue;
      current |= call->done == 0 || call == last_of(*own->second);
      kinds.insert(plain_name(call->kind));
      std::string size = std::to_string(call->elements) + " " + call->dtype;
      if (is_even(call->kind) && call->elements >= 0) sizes.insert(size);
      text += (text.empty() ? "" : ", ") + name_of(job_.ranks[rank]) + " is in " + call_text(*call);
      if (call->elements >= 0) text += " of " + size;
    }
    if (!current || (kinds.size() < 2 && sizes.size() < 2)) return;
    out.differ = kinds.size() > 1 ? Differ::kinds : Differ::sizes;
    out.calls = text + (out.group.empty() ? "" : ", all of group " + out.group);
  }

  const Job& job_;
  const Group& group_;
  bool by_number_ = false;
  Place first_;
  u32 in_first_ = 0;
};

// The transfer in which a rank is now; nullptr: in none.
const RecentCollective* transfer_in(const RecentGroup& group) {
  bool is_one = !group.calls.empty() && is_transfer(group.calls.back().kind) && group.calls.back().done == 0;
  return is_one ? &group.calls.back() : nullptr;
}

// The number in the job of the other rank of a transfer; -1 not known.
i32 peer_of(const RecentGroup& group, const RecentCollective& call) {
  std::vector<i32> members = rank_numbers(group.ranks);
  return call.peer >= 0 && size_t(call.peer) < members.size() ? members[size_t(call.peer)] : -1;
}

bool sends(const RecentCollective& call) { return call.kind == "send"; }

// Whether the peer of a transfer is in the other half of it.
bool answers(const Rank& peer, const RecentGroup& group, const RecentCollective& call, i32 number) {
  if (!peer.now.records) return false;
  for (const RecentGroup& own : peer.now.groups) {
    const RecentCollective* other = own.name == group.name && own.ranks == group.ranks ? transfer_in(own) : nullptr;
    if (!other || sends(*other) == sends(call)) continue;
    return peer_of(own, *other) == number || (!sends(*other) && other->peer < 0);  // a recv from any source
  }
  return false;
}

// A rank that receives from, or sends to, a rank that does something else, or two that are in the same transfer.
void add_transfers(const Job& job, std::vector<Meeting>& out) {
  for (u32 r = 0; r < job.ranks.size(); r++) {
    if (!job.ranks[r].now.records) continue;
    for (const RecentGroup& group : job.ranks[r].now.groups) {
      const RecentCollective* call = transfer_in(group);
      i32 number = call ? peer_of(group, *call) : -1;
      for (u32 peer = 0; number >= 0 && peer < job.ranks.size(); peer++) {
        if (job.ranks[peer].number != number || peer == r) continue;
        if (!answers(job.ranks[peer], group, *call, job.ranks[r].number))
          out.push_back({group.name, call->kind, {r}, {peer}});
        else if (sends(*call))  // once for both
          out.push_back({group.name, "a transfer", {r, peer}, {}});
      }
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
