// The simulated CUPTI's heart: hears what the simulated driver does, and turns what its client has enabled into
// activity records (collector_records.cpp) and callbacks. One per process.
#pragma once
#include <atomic>
#include <bitset>
#include <map>

#include "buffers.h"
#include "driver/driver.h"
#include "generation.h"

namespace sim::cupti {

constexpr u32 kCallbackIds = 1024, kDomains = 8, kExternalKinds = 6;

using Callback = void (*)(void* user, u32 domain, u32 cbid, const void* data);

struct Subscriber {
  Callback callback = nullptr;
  void* user = nullptr;
  std::string name;
  std::bitset<kCallbackIds> wanted[kDomains];
};

class Collector final : public Listener {
 public:
  int attach();  // 0, or why there is no CUPTI: no driver, or one too old
  Driver* driver() { return driver_; }

  int enable(u32 kind, bool on);
  void enable_call(Domain domain, u32 cbid, bool on) { traced_[int(domain)][cbid % kCallbackIds] = on; }
  void use_system_threads(bool on) { system_threads_ = on; }
  bool system_threads() const { return system_threads_; }
  // In a forked child: CUPTI's thread is not there, and may have held a lock.
  void record_nothing();
  void flush(bool forced);
  void dump(u32 kind);  // contexts or streams that exist already

  void push_external(u32 kind, u64 id);
  bool pop_external(u32 kind, u64* id);

  Buffers& buffers() { return buffers_; }
  std::mutex& subscribing() { return subscribing_; }
  Subscriber* subscriber = nullptr;  // under subscribing()

 private:
  void enter(Call&) override;
  void leave(Call&) override;
  void op(const Op&) override;
  void sync(const Sync&) override;
  void event(const EventRecord&) override;
  void memory(const MemoryEvent&) override;
  void pool(PoolAction, const Pool&, u64 time, u64 kept_bytes, u32 correlation) override;
  void context(const Context&) override;
  void stream(const Stream&, u32 correlation) override;
  void loading(u64 begin, u64 end, u32 correlation) override;

  bool on(u32 kind) const { return on_[kind]; }
  u64 told(u64 time) const { return driver_->client_time(time); }
  void call_back(Call&, u32 site);
  void call_back(u32 domain, u32 cbid, const void* data);
  u32 thread_id() const;
  void collect(u64 until, bool forced);
  void emit(Op op, bool complete);
  void tell(const Op&);
  void tell(const Context&);
  void tell(const Stream&, u32 correlation);
  void tell_device(const Device&);
  void overhead(u32 type, u64 begin, u64 end, u32 correlation);

  Driver* driver_ = nullptr;
  int why_not_ = 0;
  std::once_flag attaching_;
  std::atomic<bool> on_[kKinds] = {};
  std::atomic<bool> traced_[3][kCallbackIds] = {};  // calls of a domain; its kind sets them all
  std::atomic<bool> system_threads_{false};
  std::mutex collecting_, pending_mutex_, subscribing_;
  std::multimap<u64, Op> pending_;  // by the time at which the record is there
  u64 device_records_ = 0;
  Buffers buffers_;
};

Collector& collector();

}  // namespace sim::cupti
