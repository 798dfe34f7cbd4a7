#include "collector.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "results.h"
#include "switches.h"

namespace sim::cupti {
namespace {

thread_local std::vector<u64> external[kExternalKinds];
thread_local bool calling_back;

// Every Nth, by a switch; 0 for never.
bool every(Switch which, u64 count) {
  u64 step = number_of(which);
  return step != 0 && count % step == 0;
}

// What CUPTI hands to callbacks of API calls.
struct CallbackData {
  u32 site;
  const char* function;
  const void* parameters;
  void* result;
  const char* symbol;
  void* context;
  u32 context_id;
  u64* scratch;
  u32 correlation;
};

}  // namespace

Collector& collector() {
  static Collector* one = new Collector;  // never destroyed: CUPTI's thread outlives main
  return *one;
}

int Collector::attach() {
  std::call_once(attaching_, [this] {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    auto get = library != nullptr ? reinterpret_cast<Driver* (*)()>(dlsym(library, "simcuda_driver")) : nullptr;
    if (get == nullptr) {
      why_not_ = generation().api >= 130000 ? kUnknown : kNotInitialized;
    } else if (get()->version() / 1000 < int(generation().cuda / 1000)) {
      why_not_ = kNotInitialized;
    } else {
      driver_ = get();
      driver_->listen(this);
      pthread_atfork(nullptr, nullptr, [] { collector().record_nothing(); });
    }
  });
  return why_not_;
}

int Collector::enable(u32 kind, bool on) {
  if (kind == 0 || kind >= kKinds || record_bytes(kind) == 0) return kInvalidKind;
  on_[kind] = on;
  if (kind == kRuntime || kind == kDriver)
    for (auto& traced : traced_[int(kind == kRuntime ? Domain::runtime : Domain::driver)]) traced = on;
  if (on && kind == kDevice)
    for (int i = 0; i < driver_->device_count(); i++) tell_device(*driver_->device(i));
  // A real clock runs on by itself: CUPTI's thread looks what has ended. A virtual one moves in calls only.
  if (on)
    buffers_.every(driver_->virtual_time() ? nullptr : +[] { collector().collect(collector().driver_->now(), false); });
  return kSuccess;
}

void Collector::record_nothing() {
  for (auto& on : on_) on = false;
  for (auto& domain : traced_)
    for (auto& traced : domain) traced = false;
}

// API calls -----------------------------------------------------------------------------------------------------

void Collector::enter(Call& call) { call_back(call, 0); }

void Collector::leave(Call& call) {
  u32 kind = call.domain == Domain::runtime ? kRuntime : kDriver;
  if (traced_[int(call.domain)][call.cbid % kCallbackIds]) {
    for (u32 i = 0; on(kExternal) && i < kExternalKinds; i++) {
      if (external[i].empty()) continue;
      ExternalRecord record = {kExternal, i, external[i].back(), call.correlation, 0};
      buffers_.put(&record, kExternal, true);
    }
    ApiRecord record = {kind,          call.cbid,   told(call.begin), told(call.end),
                        u32(getpid()), thread_id(), call.correlation, u32(call.result)};
    buffers_.put(&record, kind, true);
  }
  call_back(call, 1);
  if (call.outer == nullptr && driver_->virtual_time()) collect(call.end, false);
}

u32 Collector::thread_id() const { return system_threads_ ? u32(syscall(SYS_gettid)) : u32(u64(pthread_self())); }

// What a subscriber's callback does itself is not told to it.
void Collector::call_back(u32 domain, u32 cbid, const void* data) {
  Callback callback;
  void* user;
  {
    std::lock_guard guard(subscribing_);
    if (subscriber == nullptr || calling_back || !subscriber->wanted[domain][cbid % kCallbackIds]) return;
    callback = subscriber->callback;
    user = subscriber->user;
  }
  calling_back = true;
  callback(user, domain, cbid, data);
  calling_back = false;
}

void Collector::call_back(Call& call, u32 site) {
  Context* context = driver_->current();
  CallbackData data = {site,
                       call.name,
                       call.parameters,
                       site == 1 ? &call.result : nullptr,
                       nullptr,  // the name of a kernel, which nobody here asks for
                       context,
                       context != nullptr ? context->id : 0,
                       &call.scratch,
                       call.correlation};
  call_back(u32(call.domain), call.cbid, &data);
}

void Collector::push_external(u32 kind, u64 id) { external[kind].push_back(id); }

bool Collector::pop_external(u32 kind, u64* id) {
  if (external[kind].empty()) return false;
  if (id != nullptr) *id = external[kind].back();
  external[kind].pop_back();
  return true;
}

// Work of the device --------------------------------------------------------------------------------------------

// Whether it is wanted is decided when it is enqueued; its record is there when it has ended, or later.
void Collector::op(const Op& op) {
  bool node = op.kind != Op::graph && op.graph_id != 0;
  bool wanted = op.kind == Op::kernel ? on(kKernel) || on(kConcurrentKernel)
                : op.kind == Op::copy ? on(op.copy_kind == CopyKind::ptop ? kMemcpy2 : kMemcpy)
                : op.kind == Op::fill ? on(kMemset)
                                      : on(kGraph);
  if (!wanted || (node && on(kGraph))) return;
  std::lock_guard guard(pending_mutex_);
  pending_.emplace(op.end + number_of(Switch::SIMCUPTI_LATE_NS), op);
}

void Collector::collect(u64 until, bool forced) {
  std::lock_guard alone(collecting_);  // a flush waits for what CUPTI's thread has taken and not yet written
  std::vector<std::pair<Op, bool>> ready;
  {
    std::lock_guard guard(pending_mutex_);
    auto end = pending_.upper_bound(until);
    for (auto at = pending_.begin(); at != end; ++at) ready.emplace_back(at->second, true);
    pending_.erase(pending_.begin(), end);
    // What is still running is handed over unfinished, once.
    if (forced) {
      for (auto& [time, op] : pending_) ready.emplace_back(op, false);
      pending_.clear();
    }
  }
  if (number_of(Switch::SIMCUPTI_SHUFFLE) != 0) std::vector(ready.rbegin(), ready.rend()).swap(ready);
  for (auto& [op, complete] : ready) emit(op, complete);
}

void Collector::emit(Op op, bool complete) {
  device_records_++;
  if (every(Switch::SIMCUPTI_LOSE, device_records_)) return;
  if (every(Switch::SIMCUPTI_DROP, device_records_)) return buffers_.count_dropped();
  op.begin -= number_of(Switch::SIMCUPTI_EARLY_NS);
  op.end -= number_of(Switch::SIMCUPTI_EARLY_NS);
  if (!complete) op.end = 0;
  if (every(Switch::SIMCUPTI_ZERO_TIME, device_records_)) op.begin = op.end = 0;
  tell(op);
}

// A flush costs the program's time only where time is real; a virtual clock would show how often a client flushes.
void Collector::flush(bool forced) {
  u64 begin = driver_->peek();
  collect(begin, forced);
  if (buffers_.flush() && !driver_->virtual_time()) overhead(0x10000, begin, driver_->peek(), 0);
}

}  // namespace sim::cupti
