#include "report/communication.h"

#include <cmath>

#include "report/columns.h"

namespace tprof {
namespace {

constexpr size_t kNamedRanks = 3;  // more are counted

// Whether most of what a rank takes longer is in one stage.
bool stage_is_known(const RankWait& wait) {
  return wait.leaves_late || (wait.excess_in_ns > 0 && 2 * wait.excess_in_ns > wait.excess_ns);
}

}  // namespace

Table communication_table(const Distributed& distributed) {
  Table out{"Communication",
            {{"name", "Operation", Unit::text},
             {"group", "Group", Unit::text, 2},
             {"ranks", "Ranks", Unit::count, 1},
             {"calls", "Calls", Unit::count},
             {"total_size", "Size", Unit::bytes},
             {"total_latency", "Total", Unit::time},
             {"data_transfer", "Transfer", Unit::time},
             {"waiting", "Waiting", Unit::time},
             {"largest_skew", "Largest skew", Unit::time, 3},
             {"algorithm_bandwidth", "Alg. GB/s", Unit::number, 1},
             {"bus_bandwidth", "Bus GB/s", Unit::number}}};
  auto known = [](bool is, Value value) { return is ? value : Value(); };
  u64 unknown = 0;
  for (const CommunicationRow& row : distributed.rows) {
    unknown += row.unknown_size;
    out.rows.push_back(
        {row.op, row.group, i64(row.ranks), i64(row.calls), known(row.unknown_size < row.collectives, row.bytes),
         row.total_ns, known(row.waits, row.transfer_ns), known(row.waits, row.total_ns - row.transfer_ns),
         known(row.waits || row.call_only, row.longest_skew_ns), known(row.waits && row.alg_gbps >= 0, row.alg_gbps),
         known(row.waits && row.bus_gbps >= 0, row.bus_gbps)});
  }
  if (distributed.rows.empty())
    out.footer.push_back("Communication: no collective in these traces");
  else
    out.footer = distributed.notes;
  if (unknown) out.footer.push_back("the size of " + std::to_string(unknown) + " collectives is not known");
  return out;
}

Table ranks_table(const Distributed& distributed, const std::vector<Rank>& ranks) {
  struct Row {
    const Rank* rank;
    const RankWait* wait;  // nullptr: nothing to compare it with
  };
  std::vector<Row> rows;
  bool numbered = false;
  for (size_t i = 0; i < ranks.size(); i++) {
    bool compared = i < distributed.waits.size() && !ranks[i].calls.empty();
    rows.push_back({&ranks[i], compared ? &distributed.waits[i] : nullptr});
    numbered |= ranks[i].number >= 0;
  }
  Columns<Row> c;
  auto time = [&](const char* key, const char* title, int leaves, i64 Rank::*field) {
    c.add(key, title, Unit::time, leaves, [=](auto& r) { return r.rank->*field; });
  };
  auto of_wait = [](const Row& r, auto value) { return r.wait ? Value(value(*r.wait)) : Value(); };
  if (numbered) {
    c.add("rank", "Rank", Unit::count, 0,
          [](auto& r) { return r.rank->number < 0 ? Value() : Value(i64(r.rank->number)); });
    c.add("node", "Node", Unit::text, 2, [](auto& r) { return r.rank->host.empty() ? Value() : Value(r.rank->host); });
  }
  c.add("worker", numbered ? "Worker" : "Rank", Unit::text, numbered ? 9 : 0, [](auto& r) { return r.rank->worker; });
  c.add("steps", "Steps", Unit::count, 3, [](auto& r) { return i64(r.rank->steps.size()); });
  c.add("straggler", "Straggler", Unit::yes_no, 0, [](auto& r) {
    bool known = r.wait && r.wait->straggler != Straggler::unknown;
    return known ? Value(i64(r.wait->straggler == Straggler::yes)) : Value();
  });
  c.add("blamed", "By its", Unit::text, 1, [](auto& r) {
    bool named = r.wait && r.wait->straggler == Straggler::yes && stage_is_known(*r.wait);
    return named ? Value(std::string(stage_text(r.wait->excess_in))) : Value();
  });
  c.add("waiting", "Waiting", Unit::time, 0, [=](auto& r) { return of_wait(r, [](auto& w) { return w.wait_ns; }); });
  c.add("waits_for", "Most for", Unit::text, 1,
        [&](auto& r) { return r.wait && r.wait->for_rank != kNone ? Value(ranks[r.wait->for_rank].text()) : Value(); });
  c.add("waited_for", "Others wait for it", Unit::time, 0,
        [=](auto& r) { return of_wait(r, [](auto& w) { return w.late_ns; }); });
  bool parts = distributed.compared && !distributed.compared_steps;
  c.add("slowest_in", parts ? "Slowest in parts" : "Slowest in steps", Unit::count, 2,
        [=](auto& r) { return of_wait(r, [](auto& w) { return i64(w.slowest_in); }); });
  time("computation", "Computation", 0, &Rank::computation_ns);
  time("overlapping", "Overlapping", 2, &Rank::overlap_ns);
  time("communication", "Communication", 0, &Rank::communication_ns);
  time("other", "Other", 2, &Rank::other_ns);
  Table out = c.table("Ranks", rows);
  out.footer = waiting_lines(distributed, ranks);
  return out;
}

namespace {

// Time per step, or in total if there are no steps.
std::string per_step(const Rank& rank, i64 ns) {
  return rank.has_steps ? time_text(ns / i64(rank.steps.size())) + " of each step" : time_text(ns);
}

std::string listed(const std::vector<std::string>& words) {
  std::string out;
  for (size_t i = 0; i < words.size(); i++) out += (i == 0 ? "" : i + 1 < words.size() ? ", " : " and ") + words[i];
  return out;
}

// "rank 0 and rank 2 wait up to 31.2ms of each step (40.1 %) in collectives, most of it for rank 1"
std::string waiting_line(const Distributed& distributed, const std::vector<Rank>& ranks) {
  std::vector<std::string> names;
  std::map<u32, i64> for_whom;  // without ranks that wait as long themselves: these are not the cause
  const RankWait* longest = nullptr;
  i64 all_ns = 0;
  for (const RankWait& wait : distributed.waits) {
    if (double(wait.wait_ns) <= kWaitShare * double(ranks[wait.rank].span_ns)) continue;
    names.push_back(ranks[wait.rank].text());
    all_ns += wait.wait_ns;
    if (wait.for_rank != kNone && 2 * distributed.waits[wait.for_rank].wait_ns < wait.wait_ns)
      for_whom[wait.for_rank] += wait.for_rank_ns;
    if (!longest || wait.wait_ns > longest->wait_ns) longest = &wait;
  }
  if (!longest) return "";
  const Rank& rank = ranks[longest->rank];
  std::string who = names.size() <= kNamedRanks
                        ? listed(names)
                        : std::to_string(names.size()) + " of " + std::to_string(ranks.size()) + " ranks";
  std::string out = who + (names.size() == 1 ? " waits " : " wait up to ") + per_step(rank, longest->wait_ns) + " (" +
                    share_text(double(longest->wait_ns) / double(rank.span_ns)) + ") in collectives";
  for (const auto& [other, ns] : for_whom)
    if (2 * ns > all_ns) out += ", most of it for " + ranks[other].text();
  return out;
}

bool is_plural(Stage stage) { return stage == Stage::forward || stage == Stage::backward; }

// Whether it has more to do, or takes longer for the same.
std::string work_text(const RankWait& wait) {
  constexpr double kMore = 1.05;
  bool works = is_plural(wait.excess_in) || wait.excess_in == Stage::kernels || wait.excess_in == Stage::optimizer;
  if (!works || wait.more_operators < 0) return "";
  auto percent = [](double ratio) { return std::to_string(std::lround((ratio - 1) * 100)) + " %"; };
  if (wait.more_elements >= kMore)
    return " (it has more work: the inputs of its operators are " + percent(wait.more_elements) + " larger)";
  if (wait.more_operators >= kMore) return " (it has more work: " + percent(wait.more_operators) + " more operators)";
  return wait.more_elements < 0 ? " (for as many operators)" : " (for as many operators of the same size)";
}

std::string straggler_line(const Distributed& distributed, const RankWait& wait, const Rank& rank) {
  const char* what = distributed.compared_steps ? " steps" : " parts of the trace";
  std::string out = rank.text() + " keeps the other ranks waiting";
  if (wait.leaves_late)
    return out + ": its own work is not longer, but it leaves collectives " + time_text(wait.late_leave_ns) +
           " after the others in each of the" + what + ", and was the last in " + std::to_string(wait.last_out_in) +
           " of " + std::to_string(distributed.compared);
  if (wait.excess_ns > 0)
    out += ": its own work took longest in " + std::to_string(wait.slowest_in) + " of " +
           std::to_string(distributed.compared) + what + ", on average by " + time_text(wait.excess_ns) + " of " +
           time_text(distributed.stretch_ns);
  if (stage_is_known(wait))
    out += std::string("; its ") + stage_text(wait.excess_in) + (is_plural(wait.excess_in) ? " take " : " takes ") +
           time_text(wait.excess_in_ns) + " more" + work_text(wait);
  return out;
}

}  // namespace

std::vector<std::string> waiting_lines(const Distributed& distributed, const std::vector<Rank>& ranks) {
  std::vector<std::string> out;
  std::string waiting = waiting_line(distributed, ranks);
  if (!waiting.empty()) out.push_back(waiting);
  bool found = false, unknown = false;
  for (const RankWait& wait : distributed.waits) {
    unknown |= wait.straggler == Straggler::unknown && !ranks[wait.rank].calls.empty();
    if (wait.straggler != Straggler::yes) continue;
    found = true;
    out.push_back(straggler_line(distributed, wait, ranks[wait.rank]));
  }
  if (waiting.empty() || found) return out;
  std::string compared = std::to_string(distributed.compared) +
                         (distributed.compared_steps ? distributed.compared == 1 ? " step" : " steps" : " parts");
  out.push_back(unknown ? "whether one rank is always the slow one: not enough evidence (compared in " + compared + ")"
                        : "no rank is the slow one more often than by chance (compared in " + compared + ")");
  return out;
}

}  // namespace tprof
