#include "report/communication.h"

#include <stdio.h>

#include "report/columns.h"

namespace tprof {

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
    out.rows.push_back({row.op, row.group, i64(row.ranks), i64(row.calls),
                        known(row.unknown_size < row.collectives, row.bytes), row.total_ns,
                        known(row.waits, row.transfer_ns), known(row.waits, row.total_ns - row.transfer_ns),
                        known(row.waits, row.longest_skew_ns), known(row.waits && row.alg_gbps >= 0, row.alg_gbps),
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
    const RankWait* wait;  // nullptr: one rank only
  };
  std::vector<Row> rows;
  for (size_t i = 0; i < ranks.size(); i++)
    rows.push_back({&ranks[i], i < distributed.waits.size() ? &distributed.waits[i] : nullptr});
  Columns<Row> c;
  auto time = [&](const char* key, const char* title, int leaves, i64 Rank::*field) {
    c.add(key, title, Unit::time, leaves, [=](auto& r) { return r.rank->*field; });
  };
  auto of_wait = [](const Row& r, auto value) { return r.wait ? Value(value(*r.wait)) : Value(); };
  c.add("worker", "Rank", Unit::text, 0, [](auto& r) { return r.rank->name; });
  c.add("steps", "Steps", Unit::count, 2, [](auto& r) { return i64(r.rank->steps); });
  time("computation", "Computation", 0, &Rank::computation_ns);
  time("overlapping", "Overlapping", 0, &Rank::overlap_ns);
  time("communication", "Communication", 0, &Rank::communication_ns);
  time("other", "Other", 1, &Rank::other_ns);
  c.add("waiting", "Waiting", Unit::time, 0, [=](auto& r) { return of_wait(r, [](auto& w) { return w.wait_ns; }); });
  c.add("waited_for", "Others wait for it", Unit::time, 0,
        [=](auto& r) { return of_wait(r, [](auto& w) { return w.late_ns; }); });
  c.add("straggler", "Straggler", Unit::yes_no, 1,
        [=](auto& r) { return of_wait(r, [](auto& w) { return i64(w.straggler); }); });
  Table out = c.table("Ranks", rows);
  for (const std::string& line : straggler_lines(distributed, ranks)) out.footer.push_back(line);
  return out;
}

std::vector<std::string> straggler_lines(const Distributed& distributed, const std::vector<Rank>& ranks) {
  std::vector<std::string> out;
  for (const RankWait& wait : distributed.waits) {
    if (!wait.straggler) continue;
    const Rank& rank = ranks[wait.rank];
    char z[32];
    snprintf(z, sizeof z, "%.1f", wait.late_z);
    out.push_back(rank.name + " keeps the other ranks waiting in collectives, up to " +
                  time_text(wait.late_ns / i64(rank.steps)) + " per step (robust z " + z + "): look at its own steps");
  }
  return out;
}

}  // namespace tprof
