#include "report/job_tables.h"

#include "report/columns.h"

namespace tprof {

Table stages_table(const Distributed& distributed, const std::vector<Rank>& ranks) {
  Columns<StageRow> c;
  c.add("stage", "Stage", Unit::text, 0, [](auto& r) { return std::string(stage_text(r.stage)); });
  c.add("time", "Mean of a step", Unit::time, 0, [](auto& r) { return r.mean_ns; });
  c.add("frontier", "Adds to the longest", Unit::time, 1, [](auto& r) { return r.frontier_ns; });
  c.add("slowest", "Slowest", Unit::text, 0,
        [&](auto& r) { return r.slowest_in ? Value(ranks[r.slowest].text()) : Value(); });
  c.add("slowest_in", "In steps", Unit::count, 1, [](auto& r) { return i64(r.slowest_in); });
  c.add("excess", "Longer by", Unit::time, 0, [](auto& r) { return r.slowest_in ? Value(r.excess_ns) : Value(); });
  Table out = c.table("Stages of a step, over all ranks", distributed.stages);
  if (distributed.stages.empty()) out.footer.push_back("the ranks have no steps in common");
  return out;
}

Table job_path_table(const JobPath& path, const std::vector<Rank>& ranks) {
  Columns<JobPathRow> c;
  c.add("rank", "Rank", Unit::text, 0, [&](auto& r) { return ranks[r.rank].text(); });
  c.add("what", "What", Unit::text, 0, [](auto& r) { return r.op.empty() ? "its own work" : r.op; });
  c.add("time", "Time", Unit::time, 0, [](auto& r) { return r.ns; });
  c.add("share", "Share", Unit::percent, 0,
        [&](auto& r) { return path.total_ns ? Value(100.0 * double(r.ns) / double(path.total_ns)) : Value(); });
  c.add("pieces", "Pieces", Unit::count, 1, [](auto& r) { return i64(r.pieces); });
  Table out = c.table("Critical path over all ranks", path.rows);
  if (!path.steps)
    out.footer.push_back("the ranks have no steps in common");
  else
    out.footer.push_back("of " + std::to_string(path.steps) + (path.steps == 1 ? " step" : " steps") +
                         "; it goes from one rank to another " + std::to_string(path.changes) + " times");
  return out;
}

Table matrix_table(const CommunicationMatrix& matrix) {
  Columns<Transfer> c;
  c.add("from", "From rank", Unit::count, 0, [](auto& r) { return i64(r.from); });
  c.add("to", "To rank", Unit::count, 0, [](auto& r) { return i64(r.to); });
  c.add("size", "Size", Unit::bytes, 0, [](auto& r) { return r.bytes; });
  c.add("calls", "Calls", Unit::count, 0, [](auto& r) { return i64(r.calls); });
  Table out = c.table("Who sends how much to whom", matrix.transfers);
  if (matrix.unknown)
    out.footer.push_back(std::to_string(matrix.unknown) +
                         " collectives are not in it: their size, their kind or their ranks are not known");
  return out;
}

}  // namespace tprof
