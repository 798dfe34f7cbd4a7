// The exported functions of CUPTI's callback API.
#include <cstdio>
#include <string>

#include "calls.h"
#include "collector.h"
#include "results.h"
#include "switches.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace sim::cupti {
namespace {

struct Name {
  u32 cbid;
  const char* base;
  u32 version;
};

// A twin of a function that is older than twins are counts as CUDA 7's.
constexpr u32 twin_version(u32 version) { return version > 7000 ? version : 7000; }

constexpr Name kRuntimeNames[] = {
#define SIM_MAJOR 0
#define RT(name, cbid, version, parameters, arguments) {cbid, #name, version},
#define RT_AS(cupti_name, name, cbid, version, parameters, arguments) {cbid, #cupti_name, version},
#define RT_TWIN(name, cbid, version, suffix, twin, parameters, arguments) \
  {cbid, #name, version}, {twin, #name "_" #suffix, twin_version(version)},
#include "cudart/runtime_api.def"
#undef RT
#undef RT_TWIN
};

constexpr Name kDriverNames[] = {
#define DRV_PLAIN(name, parameters, arguments)
#define DRV(name, cbid, parameters, arguments) {cbid, #name, 0},
#define DRV_TWIN(name, cbid, twin, parameters, arguments) {cbid, #name, 0}, {twin, #name "_ptsz", 0},
#include "driver/driver_api.def"
#undef DRV_PLAIN
#undef DRV
#undef DRV_TWIN
};

// CUPTI's struct of the same purpose: names of who holds it and who asks.
struct SubscriberParameters {
  size_t struct_bytes;
  const char* name;
  char* old_name;
  size_t old_name_bytes;
};

int subscribe(Subscriber** handle, Callback callback, void* user, const char* name, char* holder, size_t bytes) {
  if (int failure = collector().attach()) return failure;
  if (handle == nullptr || callback == nullptr) return kInvalidParameter;
  std::lock_guard guard(collector().subscribing());
  std::string held_by = text_of(Switch::SIMCUPTI_BUSY)[0] != 0 ? text_of(Switch::SIMCUPTI_BUSY_NAME)
                        : collector().subscriber != nullptr    ? "CUPTI for " + collector().subscriber->name
                                                               : "";
  if (!held_by.empty()) {
    if (holder != nullptr && bytes != 0) snprintf(holder, bytes, "%s", held_by.c_str());
    return kMultipleSubscribers;
  }
  *handle = collector().subscriber = new Subscriber;
  (*handle)->callback = callback;
  (*handle)->user = user;
  (*handle)->name = name != nullptr ? name : "";
  return kSuccess;
}

}  // namespace

EXPORT int cuptiSubscribe(Subscriber** handle, Callback callback, void* user) {
  called(__func__);
  return subscribe(handle, callback, user, nullptr, nullptr, 0);
}

EXPORT int cuptiSubscribe_v2(Subscriber** handle, Callback callback, void* user, SubscriberParameters* parameters) {
  called(__func__);
  if (parameters == nullptr) return kInvalidParameter;
  return subscribe(handle, callback, user, parameters->name, parameters->old_name, parameters->old_name_bytes);
}

EXPORT int cuptiUnsubscribe(Subscriber* handle) {
  called(__func__);
  std::lock_guard guard(collector().subscribing());
  if (handle == nullptr || handle != collector().subscriber) return kInvalidParameter;
  collector().subscriber = nullptr;  // leaked: a callback may be under way
  return kSuccess;
}

EXPORT int cuptiEnableCallback(u32 on, Subscriber* handle, u32 domain, u32 cbid) {
  called(__func__);
  std::lock_guard guard(collector().subscribing());
  if (handle == nullptr || handle != collector().subscriber) return kInvalidParameter;
  if (domain >= kDomains || cbid >= kCallbackIds) return kInvalidParameter;
  handle->wanted[domain][cbid] = on != 0;
  return kSuccess;
}

EXPORT int cuptiEnableDomain(u32 on, Subscriber* handle, u32 domain) {
  called(__func__);
  std::lock_guard guard(collector().subscribing());
  if (handle == nullptr || handle != collector().subscriber || domain >= kDomains) return kInvalidParameter;
  if (on != 0)
    handle->wanted[domain].set();
  else
    handle->wanted[domain].reset();
  return kSuccess;
}

EXPORT int cuptiEnableAllDomains(u32 on, Subscriber* handle) {
  called(__func__);
  for (u32 domain = 0; domain < kDomains; domain++)
    if (int failure = cuptiEnableDomain(on, handle, domain)) return failure;
  return kSuccess;
}

EXPORT int cuptiGetCallbackName(u32 domain, u32 cbid, const char** name) {
  called(__func__);
  if (name == nullptr) return kInvalidParameter;
  // Never destroyed: buffers are delivered, and their calls named, while the process ends.
  static const auto& runtime_names = *[] {
    auto* names = new std::map<u32, std::string>;
    for (const Name& one : kRuntimeNames)
      (*names)[one.cbid] = std::string(one.base) + "_v" + std::to_string(one.version);
    return names;
  }();
  if (domain == u32(Domain::runtime)) {
    auto found = runtime_names.find(cbid);
    if (found == runtime_names.end()) return kInvalidParameter;
    *name = found->second.c_str();
    return kSuccess;
  }
  for (const Name& one : kDriverNames)
    if (domain == u32(Domain::driver) && one.cbid == cbid) return *name = one.base, kSuccess;
  return kInvalidParameter;
}

EXPORT int cuptiFinalize() {
  called(__func__);
  if (collector().attach() != 0) return kSuccess;
  for (u32 kind = 0; kind < kKinds; kind++)
    if (record_bytes(kind) != 0) collector().enable(kind, false);
  std::lock_guard guard(collector().subscribing());
  collector().subscriber = nullptr;
  return kSuccess;
}

}  // namespace sim::cupti
