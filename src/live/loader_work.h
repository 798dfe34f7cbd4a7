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
  i64 fetch_ns = 0;                    // mean of a fetch in the last seconds; -1: there was none
  double fetching = -1;                // share of the last seconds in fetches, 0 to 1; -1: nothing is known
};

class LoaderWork {
 public:
  // A part that is over, of a worker.
  void add(const LoaderRecord& record, const HostTime& time) {
    if (record.worker < 0 || record.end_ticks < record.begin_ticks) return;
    u64 length = record.end_ticks - record.begin_ticks;
    if (!second_) second_ = time.ticks_of(1'000'000'000);
    sums_.add(second_, record.end_ticks, record.head.id, {length, length, 1});
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
    u64 all = 0;
    auto sums = sums_.sums();
    for (LoaderPart part : {LoaderPart::start, LoaderPart::wait, LoaderPart::fetch, LoaderPart::send})
      all += sums[u32(part)].self;
    Sum fetch = sums[u32(LoaderPart::fetch)];
    out.fetch_ns = fetch.calls ? time.ns(fetch.self / fetch.calls) : -1;
    if (all) out.fetching = double(fetch.self) / double(all);
    return out;
  }

 private:
  RecentSums<u32> sums_;  // by LoaderPart
  u64 second_ = 0;        // in ticks, as it was known first: the length of the slots
};

}  // namespace tprof::live
