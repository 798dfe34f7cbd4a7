// What a worker of a DataLoader does now, and how it spent the last seconds.
#pragma once
#include "live/host_time.h"
#include "live/recent_sums.h"

namespace tprof::live {

struct LoaderView {
  u32 pid = 0;
  i32 worker = 0;
  u32 of = 0;                          // workers of the loader
  u64 loader = 0;                      // the same for its workers
  LoaderPart part = LoaderPart::none;  // now
  i64 since_ns = 0;                    // how long it has been doing that
  i64 fetch_ns = 0;                    // mean of the fetches that ended in the last seconds; -1: none did
  double fetching = -1;                // share of the last seconds in fetches, 0 to 1; -1: not known for half of them
};

class LoaderWork {
 public:
  // A part that is over, of a worker.
  void add(const LoaderRecord& record, const HostTime& time) {
    if (record.worker < 0 || record.end_ticks < record.begin_ticks) return;
    if (!second_) second_ = std::max<u64>(time.ticks_of(1'000'000'000), 1);
    u64 begin = record.begin_ticks, end = record.end_ticks, last = end / second_;
    u64 from = std::max(begin, (last - std::min(last, Sums::kSlots - 1)) * second_);
    for (u64 slot = from / second_; slot < last; slot++) {
      u64 to = (slot + 1) * second_;
      sums_.add(second_, from, record.head.id, {to - from, 0, 0});
      from = to;
    }
    sums_.add(second_, from, record.head.id, {end - from, end - begin, 1});  // the whole part counts where it ended
  }

  LoaderView view(const FileHeader& header, const HostTime& time) const {
    const LoaderNow& now = header.loader;
    LoaderView out;
    out.pid = header.pid;
    out.loader = now.loader;
    out.worker = now.worker;
    out.of = now.workers;
    u64 since = now.since_ticks;
    out.part = since ? static_cast<LoaderPart>(now.part.load()) : LoaderPart::none;
    out.since_ns = since && time.now() > since ? time.ns(time.now() - since) : 0;
    u64 second = second_ ? second_ : std::max<u64>(time.ticks_of(1'000'000'000), 1);
    u64 slot = time.now() / second, first = slot - std::min(slot, Sums::kSlots - 1);
    auto sums = sums_.sums(first);
    Sum fetches = sums[u32(LoaderPart::fetch)];
    out.fetch_ns = fetches.calls ? time.ns(fetches.total / fetches.calls) : -1;
    u64 running = since ? time.now() - std::min(time.now(), std::max(since, first * second)) : 0;
    sums[u32(out.part)].self += running;
    u64 all = 0;
    for (LoaderPart part : {LoaderPart::start, LoaderPart::wait, LoaderPart::fetch, LoaderPart::send})
      all += sums[u32(part)].self;
    // While nothing is recorded, only the part that runs is known.
    if (2 * all > time.now() - first * second) out.fetching = double(sums[u32(LoaderPart::fetch)].self) / double(all);
    return out;
  }

 private:
  using Sums = RecentSums<u32>;
  Sums sums_;       // by LoaderPart; self: what lies in the slot, total: whole parts that ended in it
  u64 second_ = 0;  // in ticks, as it was known first: the length of the slots
};

}  // namespace tprof::live
