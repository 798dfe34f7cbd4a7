#include "analysis/ranks/distributed_view.h"
#include "analysis/ranks/matching.h"
#include "dataset/rows.h"

namespace tprof::dataset {
namespace {

may_be_integer known(i64 value) { return value < 0 ? may_be_integer() : may_be_integer(value); }

// A call of a rank, and the collective of which it is a part.
struct RankCall {
  const CollectiveCall* call;
  u64 number;
  std::optional<i64> transfer_ns;
};

row::step row_of(const RankStep& step, const RankInStep& view, bool has_steps) {
  row::step out{.name = step.name, .is_step = has_steps, .start_ns = step.time.begin};
  out.duration_ns = step.time.length();
  out.computation_ns = step.overlap.computation_ns;
  out.overlap_ns = step.overlap.overlap_ns;
  out.communication_ns = step.overlap.communication_ns;
  out.other_ns = step.overlap.other_ns;
  out.transfer_ns = view.transfer_ns;
  out.waiting_ns = view.synchronizing_ns;
  out.undivided_ns = view.undivided_ns;
#define STAGE(name, text) out.name##_ns = step.stages[size_t(Stage::name)];
  TPROF_STAGES(STAGE)
#undef STAGE
  return out;
}

row::collective row_of(const RankCall& one) {
  const CollectiveCall& call = *one.call;
  row::collective out{.name = call.op, .process_group = call.group, .number = integer(one.number)};
  out.sequence = known(call.sequence);
  out.start_ns = call.begin_ns;
  out.duration_ns = call.dur_ns;
  out.transfer_ns = one.transfer_ns;
  out.bytes = known(call.bytes);
  out.group_size = known(call.ranks);
  if (!call.group_ranks.empty()) out.group_ranks = call.group_ranks;
  out.peer = known(call.peer);
  out.is_async = known(call.async);
  out.call_only = call.call_only;
  if (call.call_ns) out.call_start_ns = call.call_ns, out.call_duration_ns = call.call_dur_ns;
  return out;
}

}  // namespace

void write_ranks(Store& store, const std::vector<Origin>& origins, const std::vector<Rank>& ranks,
                 const Distributed& found, RowCounts& counts) {
  std::vector<std::vector<RankCall>> calls(ranks.size());
  std::vector<MatchedCalls> matched = match_calls(ranks);
  u64 number = counts[size_t(Table::collective)];  // no collective before has it
  for (const MatchedCalls& one : matched) {
    std::optional<i64> transfer = transfer_of(one);
    for (const MatchedCall& member : one.members) calls[member.rank].push_back({member.call, number, transfer});
    number++;
  }
  for (u32 r = 0; r < ranks.size(); r++) {
    Rows<row::step> steps = store.rows<row::step>(origins[r]);
    for (const RankStep& step : ranks[r].steps)
      steps.add(row_of(step, rank_in_step(r, step, found.times[r]), ranks[r].has_steps));
    counts[size_t(Table::step)] += steps.finish();
    Rows<row::collective> collectives = store.rows<row::collective>(origins[r]);
    for (const RankCall& call : calls[r]) collectives.add(row_of(call));
    counts[size_t(Table::collective)] += collectives.finish();
  }
}

}  // namespace tprof::dataset
