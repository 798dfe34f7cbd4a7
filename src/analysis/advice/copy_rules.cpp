// Rules of advice about copies between host and GPU.
#include "analysis/advice/rule.h"

namespace tprof::rules {
namespace {

constexpr u64 kStagedBytes = 64 << 10;  // the driver stages copies up to this size
constexpr u64 kBatchBytes = 1 << 20;    // copies of this size carry data that has to be copied
constexpr double kManyCopies = 10;      // per step, as in TraceLens

// How long activities that `keep` selects take while no kernel runs.
template <class Keep>
i64 ns_without_kernels(const Facts& facts, Keep keep) {
  Cost cost(facts);
  for (const GpuEvent& work : facts.model.gpu)
    if (work.runs_on_gpu() && facts.inside(work.begin_ns) && keep(work)) cost.time(work.begin_ns, work.end_ns());
  return cost.ns();
}

}  // namespace

std::optional<Match> host_copies(const Facts& facts) {
  i64 worst = 0;
  CopyKind kind = CopyKind::unknown;
  for (CopyKind k : {CopyKind::to_device, CopyKind::to_host}) {
    i64 sum = 0;
    for (const Copies& row : facts.copies)
      if (row.kind == k) sum += row.ns;
    if (sum > worst) worst = sum, kind = k;
  }
  if (!worst) return {};
  auto is_it = [&](const GpuEvent& w) { return w.kind() == Kind::copy && copy_kind_of(w) == kind; };
  double alone = double(ns_without_kernels(facts, is_it)), share = facts.share(alone);
  return Match{share, share, facts.windows.per_step(alone),
               std::string("Copies from ") + copy_kind_text(kind) + " take " + ms(facts.windows.per_step(worst)) +
                   " per step, of which " + ms(facts.windows.per_step(alone)) + " while no kernel runs.",
               longest_gpu_work(facts, is_it)};
}

// Copying from pinned memory is about twice as fast and does not block the caller: half of the time is saved. Small
// copies are left out: the driver stages them without blocking (Nsight Systems' expert rule exempts them as well).
std::optional<Match> pageable_copies(const Facts& facts) {
  auto is_it = [](const GpuEvent& w) {
    return w.kind() == Kind::copy && host_memory_of(w) == HostMemory::pageable && w.as<CopyInfo>().bytes > kStagedBytes;
  };
  i64 ns = 0;
  u64 bytes = 0, to_host = 0;
  for (const GpuEvent& work : facts.model.gpu) {
    if (!is_it(work) || !facts.inside(work.begin_ns)) continue;
    ns += work.dur_ns;
    bytes += work.as<CopyInfo>().bytes;
    if (copy_kind_of(work) == CopyKind::to_host) to_host += work.as<CopyInfo>().bytes;
  }
  if (!ns) return {};
  double alone = double(ns_without_kernels(facts, is_it)), share = facts.share(alone);
  return Match{share,
               share,
               facts.windows.per_step(alone) / 2,
               mib(facts.windows.per_step(double(bytes))) + " per step passes through pageable host memory, at " +
                   std::to_string(double(bytes) / double(ns)).substr(0, 4) + " GB/s.",
               longest_gpu_work(facts, is_it),
               2 * to_host > bytes ? "Copy results into pinned memory with non_blocking=True, and wait once." : ""};
}

// The saving is what the copies and their calls take while no kernel runs, without the time that a call waits for GPU
// work launched before its copy. Needs steps: without them the number per step is not known.
std::optional<Match> many_copies(const Facts& facts) {
  if (!facts.windows.has_steps) return {};
  u64 count = 0;
  Cost cost(facts);
  auto is_it = [](const GpuEvent& w) {
    return w.kind() == Kind::copy && (copy_kind_of(w) == CopyKind::to_device || copy_kind_of(w) == CopyKind::to_host) &&
           w.as<CopyInfo>().bytes < kBatchBytes;
  };
  for (const GpuEvent& work : facts.model.gpu) {
    if (!is_it(work) || !facts.inside(work.begin_ns)) continue;
    count++;
    cost.time(work.begin_ns, work.end_ns());
    if (work.call != kNone) cost.call(work.call);
  }
  if (facts.windows.per_step(double(count)) <= kManyCopies) return {};
  double share = facts.share(double(cost.ns()));
  return Match{share, share, facts.windows.per_step(cost.ns()),
               std::to_string(u64(facts.windows.per_step(double(count)))) +
                   " small copies per step cross between host and GPU; they and their calls take " +
                   ms(facts.windows.per_step(cost.ns())) + " while no kernel runs.",
               longest_gpu_work(facts, is_it)};
}

}  // namespace tprof::rules
