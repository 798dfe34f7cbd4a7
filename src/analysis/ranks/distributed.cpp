#include "analysis/ranks/distributed.h"

#include <algorithm>

#include "analysis/ranks/clocks.h"
#include "analysis/ranks/matching.h"
#include "analysis/ranks/stragglers.h"

namespace tprof {
namespace {

bool has(const std::string& op, const char* word) { return op.find(word) != op.npos; }

// Bytes that the algorithm sends per byte of the collective.
double bus_factor(const std::string& op, double n) {
  if (n < 2) return 1;
  if (has(op, "allreduce")) return 2 * (n - 1) / n;
  return has(op, "reducescatter") || has(op, "allgather") || has(op, "alltoall") ? (n - 1) / n : 1;
}

// A call of one rank, how long the rank waited in it, and for which one.
struct Waited {
  Interval time;
  u32 for_rank;
};

// How long a rank waited for each other one. A moment counts for the wait that started first.
std::map<u32, i64> waited_for(std::vector<Waited> waits) {
  std::stable_sort(waits.begin(), waits.end(),
                   [](const Waited& a, const Waited& b) { return a.time.begin < b.time.begin; });
  std::map<u32, i64> out;
  i64 at = INT64_MIN;
  for (const Waited& wait : waits) {
    i64 begin = std::max(at, wait.time.begin);
    if (wait.time.end <= begin) continue;
    out[wait.for_rank] += wait.time.end - begin;
    at = wait.time.end;
  }
  return out;
}

class Collectives {
 public:
  explicit Collectives(const std::vector<Rank>& ranks)
      : ranks_(ranks), operations_(ranks.size()), waits_(ranks.size()), times_(ranks.size()) {
    for (const Rank& rank : ranks) taking_part_ += !rank.calls.empty();
  }

  Distributed run() {
    std::vector<MatchedCalls> matched = match_calls(ranks_);
    for (const MatchedCalls& calls : matched) add(calls);
    add_rows();
    add_operations();
    if (taking_part_ > 1) add_late_leaves(matched);
    if (taking_part_ > 1) add_waits();
    say_what_is_missing();
    return std::move(out_);
  }

 private:
  using RowKey = std::pair<std::string, std::string>;

  void add(const MatchedCalls& calls) {
    const std::string &group = calls.group, &op = calls.op;
    const std::vector<MatchedCall>& members = calls.members;
    bool matched = calls.complete;
    CommunicationRow& row = rows_[{group, op}];
    const CollectiveCall& first = *members[0].call;
    bool call_only = std::any_of(members.begin(), members.end(), [](const auto& m) { return m.call->call_only; });
    bool waits = transfer_of(calls).has_value();
    if (call_only) out_.call_only += members.size();
    if (taking_part_ > 1 && !matched) out_.unmatched += members.size();
    row.op = op;
    row.group = group;
    row.ranks = std::max({row.ranks, i32(members.size()), first.ranks});
    row.waits &= waits;
    row.call_only |= call_only;
    row.collectives++;
    i64 begin = INT64_MAX, last = INT64_MIN;
    const MatchedCall* latest = &members[0];  // the rank that arrived last has the shortest call
    for (const MatchedCall& m : members) {
      if (m.call->dur_ns < latest->call->dur_ns) latest = &m;
      begin = std::min(begin, m.call->begin_ns);
      last = std::max(last, m.call->begin_ns);
    }
    i64 least = latest->call->dur_ns;
    if (first.bytes >= 0) {
      row.bytes += first.bytes;
      if (latest->call->ends_with_others()) sized_transfer_[{group, op}] += least;
    } else {
      row.unknown_size += moves_data(op);
    }
    if (waits || (matched && call_only)) row.longest_skew_ns = std::max(row.longest_skew_ns, last - begin);
    for (const MatchedCall& m : members) {
      row.calls++;
      row.total_ns += m.call->dur_ns;
      row.transfer_ns += waits ? least : m.call->dur_ns;
      RankOperation& own = operations_[m.rank].try_emplace({group, op}, RankOperation{m.rank, op, group}).first->second;
      own.calls++;
      own.total_ns += m.call->dur_ns;
      own.transfer_ns = own.transfer_ns.value_or(0) + (waits ? least : m.call->dur_ns);
      if (m.call->bytes >= 0) own.bytes = own.bytes.value_or(0) + m.call->bytes;
      Interval waited = waits ? Interval{m.call->begin_ns, m.call->time().end - least} : m.call->time();
      (waits ? waits_[m.rank].known : waits_[m.rank].unknown).push_back({waited, latest->rank});
      if (waits && members.size() == taking_part_) times_[m.rank].common_ends.push_back(m.call->time().end);
    }
  }

  void add_rows() {
    for (auto& [key, row] : rows_) {
      if (i64 ns = sized_transfer_[key]; ns > 0) {
        row.alg_gbps = double(row.bytes) / double(ns);
        row.bus_gbps = row.alg_gbps * bus_factor(plain_name(row.op), row.ranks);
      }
      out_.rows.push_back(row);
    }
    std::stable_sort(out_.rows.begin(), out_.rows.end(),
                     [](const CommunicationRow& a, const CommunicationRow& b) { return a.total_ns > b.total_ns; });
  }

  // If the transfer time of a row is not known, neither is each rank's part of it.
  void add_operations() {
    for (auto& by_key : operations_)
      for (const CommunicationRow& row : out_.rows) {
        auto own = by_key.find({row.group, row.op});
        if (own == by_key.end()) continue;
        if (!row.waits) own->second.transfer_ns.reset();
        out_.operations.push_back(own->second);
      }
    for (u32 r = 0; r < ranks_.size(); r++) {
      std::vector<Interval> calls, waiting, undivided;
      for (const CollectiveCall& call : ranks_[r].calls) calls.push_back(call.time());
      for (const Waited& w : waits_[r].known) waiting.push_back(w.time);
      for (const Waited& w : waits_[r].unknown) undivided.push_back(w.time);
      IntervalSet waits(std::move(waiting));
      IntervalSet rest = IntervalSet(std::move(undivided)) - waits;
      out_.times.push_back({IntervalSet(std::move(calls)), std::move(waits), std::move(rest)});
    }
  }

  // Among ranks with a common clock.
  void add_late_leaves(const std::vector<MatchedCalls>& matched) {
    std::vector<u32> clock = clocks_of(ranks_).of_rank;
    for (const MatchedCalls& calls : matched) {
      if (!calls.complete || !needs_all(calls.op)) continue;
      std::map<u32, std::pair<i64, u32>> first;  // by clock: the first end, and of how many
      for (const MatchedCall& m : calls.members) {
        if (!m.call->ends_with_others()) continue;
        auto& [end, count] = first.try_emplace(clock[m.rank], INT64_MAX, 0).first->second;
        end = std::min(end, m.call->time().end);
        count++;
      }
      for (const MatchedCall& m : calls.members)
        if (const auto& [end, count] = first[clock[m.rank]]; count > 1 && m.call->ends_with_others())
          times_[m.rank].late_leaves.push_back({m.call->time().end, m.call->time().end - end});
    }
    for (RankTimes& times : times_) std::sort(times.late_leaves.begin(), times.late_leaves.end());
  }

  void add_waits() {
    for (u32 r = 0; r < ranks_.size(); r++) out_.waits.push_back({r});
    for (u32 r = 0; r < ranks_.size(); r++) {
      RankWait& wait = out_.waits[r];
      for (const auto& [other, ns] : waited_for(waits_[r].known)) {
        wait.wait_ns += ns;
        out_.waits[other].late_ns = std::max(out_.waits[other].late_ns, ns);
        if (ns > wait.for_rank_ns) wait.for_rank = other, wait.for_rank_ns = ns;
      }
      times_[r].waits = out_.times[r].waiting | out_.times[r].undivided;
      std::sort(times_[r].common_ends.begin(), times_[r].common_ends.end());
    }
    find_stragglers(out_, ranks_, times_);
  }

  void say_what_is_missing() {
    i32 world = -1;
    for (const Rank& rank : ranks_)
      if (!rank.calls.empty()) world = std::max(world, rank.world_size);
    if (taking_part_ < 2)
      out_.notes.push_back("traces of one rank only: how long its collectives wait for other ranks is not known");
    else if (world > 0 && size_t(world) > taking_part_)
      out_.notes.push_back("traces of " + std::to_string(taking_part_) + " of " + std::to_string(world) +
                           " ranks: how long they wait for the others is not known");
    if (out_.call_only)
      out_.notes.push_back(
          "of " + std::to_string(out_.call_only) +
          " calls into NCCL the traces have no kernel: their times are those of the call that enqueues "
          "it, and how long the data moved is not known");
    if (out_.unmatched)
      out_.notes.push_back(std::to_string(out_.unmatched) + " calls of collectives are not in the traces of all ranks");
  }

  struct Waits {
    std::vector<Waited> known, unknown;  // unknown: all of the call, whatever it waited for
  };

  const std::vector<Rank>& ranks_;
  size_t taking_part_ = 0;
  std::map<RowKey, CommunicationRow> rows_;
  std::map<RowKey, i64> sized_transfer_;                     // of collectives whose size is known
  std::vector<std::map<RowKey, RankOperation>> operations_;  // by rank
  std::vector<Waits> waits_;
  std::vector<RankTimes> times_;
  Distributed out_;
};

}  // namespace

Distributed distributed(const std::vector<Rank>& ranks) { return Collectives(ranks).run(); }

RankFacts facts_of(const Distributed& distributed, const std::vector<Rank>& ranks, const std::string& worker) {
  for (const RankWait& wait : distributed.waits) {
    if (ranks[wait.rank].worker != worker || ranks[wait.rank].calls.empty()) continue;
    bool most = wait.for_rank != kNone && 2 * wait.for_rank_ns > wait.wait_ns;
    return {wait.wait_ns, most ? ranks[wait.for_rank].text() : ""};
  }
  return {};
}

}  // namespace tprof
