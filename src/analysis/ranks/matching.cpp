#include "analysis/ranks/matching.h"

#include <ctype.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace tprof {
namespace {

using Operation = std::pair<std::string, std::string>;  // group, operator

// By how much times of one machine may differ: those of GPUs are converted by each process for itself.
constexpr i64 kSameClock_ns = 1'000'000;

// Which collective of an operator in a group a call is: the step, "" for the whole trace, and the number in it.
struct CallKey {
  Operation operation;
  std::string step;
  i64 number = 0, turn = 0;  // turn: among calls of a rank with the same sequence number
  auto operator<=>(const CallKey&) const = default;
};

bool is_pair(const std::string& op) {
  std::string name = plain_name(op);
  return name.find("send") != name.npos || name.find("recv") != name.npos;
}

// Groups in which every call of a collective has a sequence number.
std::map<std::string, bool> numbered_groups(const std::vector<Rank>& ranks) {
  std::map<std::string, bool> out;
  for (const Rank& rank : ranks)
    for (const CollectiveCall& call : rank.calls)
      if (!is_pair(call.op)) out.try_emplace(call.group, true).first->second &= call.sequence >= 0;
  return out;
}

// Whether all ranks with calls have the same steps, or all have none.
bool have_the_same_steps(const std::vector<Rank>& ranks) {
  std::optional<std::set<std::string>> first;
  for (const Rank& rank : ranks) {
    if (rank.calls.empty()) continue;
    std::set<std::string> own;
    if (rank.has_steps)
      for (const RankStep& step : rank.steps) own.insert(step.name);
    if (!first)
      first = std::move(own);
    else if (own != *first)
      return false;
  }
  return true;
}

// Kinds whose calls can be counted over the whole trace.
std::map<Operation, bool> equally_often(const std::vector<Rank>& ranks) {
  bool same_steps = have_the_same_steps(ranks);
  std::map<Operation, std::map<u32, u64>> counts;
  for (u32 r = 0; r < ranks.size(); r++)
    for (const CollectiveCall& call : ranks[r].calls)
      if (!is_pair(call.op)) counts[{call.group, call.op}][r]++;
  std::map<Operation, bool> out;
  for (const auto& [operation, by_rank] : counts) {
    u64 first = by_rank.begin()->second;
    out[operation] =
        same_steps && std::all_of(by_rank.begin(), by_rank.end(), [&](const auto& one) { return one.second == first; });
  }
  return out;
}

// Whether calls of one machine, none of which can end before the last one has begun, are called the same although one
// ended before another began.
bool contradicts_itself(const std::vector<Rank>& ranks, const std::vector<MatchedCall>& members) {
  if (!needs_all(members[0].call->op)) return false;
  std::map<std::string, Interval> machines;  // the last begin and the first end
  for (const MatchedCall& m : members) {
    const Rank& rank = ranks[m.rank];
    if (!m.call->ends_with_others() || (rank.boot.empty() && rank.host.empty())) continue;
    const std::string& machine = rank.boot.empty() ? rank.host : rank.boot;
    Interval& edges = machines.try_emplace(machine, Interval{INT64_MIN, INT64_MAX}).first->second;
    edges.begin = std::max(edges.begin, m.call->begin_ns);
    edges.end = std::min(edges.end, m.call->time().end);
  }
  return std::any_of(machines.begin(), machines.end(),
                     [](const auto& one) { return one.second.begin > one.second.end + kSameClock_ns; });
}

// Sends and receives. From which rank to which, where both are known.
void add_pairs(const std::vector<Rank>& ranks, std::vector<MatchedCalls>& out) {
  using Pair = std::tuple<std::string, i32, i32>;  // group, from, to
  std::map<Pair, u64> sent, received;
  auto each = [&](auto use) {
    for (u32 r = 0; r < ranks.size(); r++)
      for (const CollectiveCall& call : ranks[r].calls) {
        if (!is_pair(call.op)) continue;
        bool sends = plain_name(call.op).find("send") != std::string::npos;
        i32 own = ranks[r].number, peer = peer_of(call);
        use(r, call, sends, Pair{call.group, sends ? own : peer, sends ? peer : own}, own >= 0 && peer >= 0);
      }
  };
  each([&](u32, const CollectiveCall&, bool sends, const Pair& pair, bool) { (sends ? sent : received)[pair]++; });
  using Receiver = std::pair<std::string, i32>;  // group, rank
  std::map<Receiver, u64> more_sent;             // than it received from known ranks
  for (const auto& [pair, count] : sent) {
    const auto& [group, from, to] = pair;
    more_sent[{group, to}] += count - std::min(count, received[pair]);
  }
  auto from_any = [&](const Pair& pair) {  // and nothing is missing
    const auto& [group, from, to] = pair;
    u64 count = received[{group, -1, to}];
    return count > 0 && count == more_sent[{group, to}];
  };
  std::map<std::pair<bool, Pair>, u64> next;
  each([&](u32 r, const CollectiveCall& call, bool sends, const Pair& pair, bool known) {
    u64 number = next[{sends, pair}]++;
    bool matched = known && number < (sends ? received : sent)[pair];
    out.push_back({call.group, call.op, {{r, &call}}, matched || (std::get<2>(pair) >= 0 && from_any(pair)), false});
  });
}

// The step in which a call begins; between two steps that of the previous one with a mark of its own.
class StepOf {
 public:
  explicit StepOf(const Rank& rank) : steps_(rank.steps) {}
  std::string operator()(const CollectiveCall& call) {
    while (at_ < steps_.size() && steps_[at_].time.end <= call.begin_ns) at_++;
    if (at_ < steps_.size() && steps_[at_].time.begin <= call.begin_ns) return steps_[at_].name;
    return at_ ? steps_[at_ - 1].name + "+" : "-";
  }

 private:
  const std::vector<RankStep>& steps_;
  size_t at_ = 0;  // calls come in order of begin
};

}  // namespace

std::vector<i32> group_members(const CollectiveCall& call) { return rank_numbers(call.group_ranks); }

std::vector<i32> rank_numbers(std::string_view text) {
  std::vector<i32> out;
  for (size_t at = 0; at < text.size();) {
    i32 number;
    auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
    at = error == std::errc() ? size_t(end - text.data()) : at + 1;
    if (error == std::errc()) out.push_back(number);
  }
  return out;
}

i32 peer_of(const CollectiveCall& call) {
  std::vector<i32> members = group_members(call);
  if (call.peer < 0 || members.empty()) return call.peer;
  return size_t(call.peer) < members.size() ? members[size_t(call.peer)] : -1;
}

std::string plain_name(std::string_view op) {
  std::string out;
  for (char c : op)
    if (isalpha(static_cast<unsigned char>(c))) out += char(tolower(c));
  return out;
}

bool waits_for_all(const std::string& op) {
  std::string name = plain_name(op);
  for (const char* word : {"send", "recv", "alltoallv", "pt2pt"})
    if (name.find(word) != name.npos) return false;
  return true;
}

bool needs_all(const std::string& op) {
  std::string name = plain_name(op);
  for (const char* word : {"allreduce", "allgather", "reducescatter", "barrier", "alltoall"})
    if (name.find(word) != name.npos) return waits_for_all(op);
  return false;
}

std::optional<i64> transfer_of(const MatchedCalls& calls) {
  if (!calls.complete || !waits_for_all(calls.op)) return {};
  i64 least = INT64_MAX;
  for (const MatchedCall& member : calls.members) {
    if (!member.call->ends_with_others()) return {};
    least = std::min(least, member.call->dur_ns);
  }
  return least;
}

bool moves_data(const std::string& op) { return plain_name(op).find("barrier") == std::string::npos; }

std::vector<MatchedCalls> match_calls(const std::vector<Rank>& ranks) {
  std::map<Operation, bool> equal = equally_often(ranks);
  std::map<std::string, bool> numbered = numbered_groups(ranks);
  std::map<CallKey, std::vector<MatchedCall>> found;
  size_t taking_part = 0;
  for (u32 r = 0; r < ranks.size(); r++) {
    std::map<CallKey, i64> next;
    StepOf step_of(ranks[r]);
    taking_part += !ranks[r].calls.empty();
    for (const CollectiveCall& call : ranks[r].calls) {
      CallKey key{{call.group, call.op}, "", 0, 0};
      std::string step = step_of(call);
      if (is_pair(call.op)) continue;
      if (numbered[call.group]) {
        key.number = call.sequence;
        key.turn = next[key]++;
      } else {
        bool counts = equal[key.operation];
        if (!counts) key.step = ranks[r].has_steps ? step : "of rank " + std::to_string(r) + " alone";
        key.number = next[key]++;
      }
      found[key].push_back({r, &call});
    }
  }
  std::vector<MatchedCalls> out;
  for (auto& [key, members] : found) {
    const auto& [group, op] = key.operation;
    i32 size = members[0].call->ranks;
    size_t expected = size > 0 ? size_t(size) : std::max<size_t>(taking_part, 2);
    bool complete = members.size() == expected;
    if (!numbered[group] && contradicts_itself(ranks, members))
      for (const MatchedCall& alone : members) out.push_back({group, op, {alone}, false, false});
    else
      out.push_back({group, op, std::move(members), complete, numbered[group]});
  }
  add_pairs(ranks, out);
  return out;
}

}  // namespace tprof
