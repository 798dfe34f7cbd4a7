// The exported functions of CUPTI's activity API.
#include <cstdio>
#include <cstring>

#include "calls.h"
#include "collector.h"
#include "results.h"
#include "switches.h"

#define EXPORT extern "C" __attribute__((visibility("default")))
#define NEED_DRIVER()                                     \
  if (int failure = collector().attach()) return failure; \
  if (is(Switch::SIMCUPTI_BUSY, "all")) return kMultipleSubscribers

namespace sim::cupti {
namespace {

// Whether `number` stands in a comma-separated list.
bool listed(const char* list, u32 number) {
  while (list != nullptr && *list != 0) {
    if (strtoul(list, nullptr, 0) == number) return true;
    list = strchr(list, ',');
    if (list != nullptr) list++;
  }
  return false;
}

int enable(u32 kind, bool on) {
  NEED_DRIVER();
  if (on && number_of(Switch::SIMCUPTI_FORBIDDEN) != 0) return kInsufficientPrivileges;
  if (on && listed(text_of(Switch::SIMCUPTI_REFUSE), kind)) return kNotSupported;
  return collector().enable(kind, on);
}

}  // namespace

EXPORT int cuptiGetVersion(u32* version) {
  called(__func__);
  *version = generation().api;
  return kSuccess;
}

EXPORT int cuptiGetTimestamp(u64* time) {
  called(__func__);
  if (collector().attach() == 0) {
    *time = collector().driver()->client_time(collector().driver()->peek());
    return kSuccess;
  }
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  *time = u64(now.tv_sec) * 1000000000 + now.tv_nsec;
  return kSuccess;
}

EXPORT int cuptiGetResultString(int result, const char** text) {
  called(__func__);
#define RESULT(number, enumerator, name) \
  if (result == number) return *text = name, kSuccess;
  SIM_CUPTI_RESULTS(RESULT)
#undef RESULT
  return kInvalidParameter;
}

EXPORT int cuptiActivityRegisterCallbacks(BufferRequested requested, BufferCompleted completed) {
  called(__func__);
  if (requested == nullptr || completed == nullptr) return kInvalidParameter;
  collector().buffers().set_callbacks(requested, completed);
  return kSuccess;  // even without a driver, as the real one
}

EXPORT int cuptiActivityEnable(u32 kind) { return called(__func__), enable(kind, true); }
EXPORT int cuptiActivityDisable(u32 kind) { return called(__func__), enable(kind, false); }
EXPORT int cuptiActivityEnableContext(void*, u32 kind) { return called(__func__), enable(kind, true); }
EXPORT int cuptiActivityDisableContext(void*, u32 kind) { return called(__func__), enable(kind, false); }

EXPORT int cuptiActivityEnableAndDump(u32 kind) {
  called(__func__);
  int result = enable(kind, true);
  if (result == kSuccess) collector().dump(kind);
  return result;
}

EXPORT int cuptiActivityEnableRuntimeApi(u32 cbid, u8 on) {
  called(__func__);
  NEED_DRIVER();
  collector().enable_call(Domain::runtime, cbid, on != 0);
  return kSuccess;
}

EXPORT int cuptiActivityEnableDriverApi(u32 cbid, u8 on) {
  called(__func__);
  NEED_DRIVER();
  collector().enable_call(Domain::driver, cbid, on != 0);
  return kSuccess;
}

// Accepted, and without effect on what is simulated.
EXPORT int cuptiActivityEnableLatencyTimestamps(u8) {
  called(__func__);
  NEED_DRIVER();
  return kSuccess;
}
EXPORT int cuptiActivityEnableAllSyncRecords(u8) {
  called(__func__);
  NEED_DRIVER();
  return kSuccess;
}
EXPORT int cuptiActivityEnableCudaEventDeviceTimestamps(u8) {
  called(__func__);
  NEED_DRIVER();
  return kSuccess;
}
EXPORT int cuptiActivityEnableAllocationSource(u8) {
  called(__func__);
  NEED_DRIVER();
  return kSuccess;
}
EXPORT int cuptiActivityEnableHWTrace(u8) {
  called(__func__);
  NEED_DRIVER();
  return kNotSupported;  // Blackwell's
}
EXPORT int cuptiActivityFlushPeriod(u32) {
  called(__func__);
  NEED_DRIVER();
  return kSuccess;
}
EXPORT int cuptiActivitySetAttribute(u32, size_t*, void*) {
  called(__func__);
  NEED_DRIVER();
  return kSuccess;
}
EXPORT int cuptiActivityGetAttribute(u32, size_t* bytes, void* value) {
  called(__func__);
  NEED_DRIVER();
  memset(value, 0, *bytes);
  return kSuccess;
}

EXPORT int cuptiSetThreadIdType(u32 type) {
  called(__func__);
  NEED_DRIVER();
  if (type > 1) return kInvalidParameter;
  collector().use_system_threads(type == 1);
  return kSuccess;
}

EXPORT int cuptiGetThreadIdType(u32* type) {
  called(__func__);
  NEED_DRIVER();
  *type = collector().system_threads();
  return kSuccess;
}

EXPORT int cuptiActivityRegisterTimestampCallback(u64 (*source)()) {
  called(__func__);
  NEED_DRIVER();
  collector().driver()->use_clock(source);
  return kSuccess;
}

EXPORT int cuptiActivityFlushAll(u32 flags) {
  called(__func__);
  NEED_DRIVER();
  if (!collector().buffers().have_callbacks()) return kInvalidOperation;
  collector().flush((flags & 1) != 0);
  return kSuccess;
}

EXPORT int cuptiActivityGetNextRecord(u8* buffer, size_t valid_bytes, u8** record) {
  called(__func__);
  if (buffer == nullptr || record == nullptr) return kInvalidParameter;
  if (is(Switch::SIMCUPTI_BAD_NEXT, "error")) return kUnknown;
  if (is(Switch::SIMCUPTI_BAD_NEXT, "stuck") && *record != nullptr) return kSuccess;
  u8* next = buffer;
  if (*record != nullptr) {
    u32 kind;
    memcpy(&kind, *record, sizeof kind);
    if (record_bytes(kind) == 0) return kInvalidKind;
    next = *record + record_bytes(kind);
  }
  if (next >= buffer + valid_bytes) return kMaxLimitReached;
  u32 kind;
  memcpy(&kind, next, sizeof kind);
  if (record_bytes(kind) == 0) return kInvalidKind;
  *record = next;
  return kSuccess;
}

EXPORT int cuptiActivityGetNumDroppedRecords(void*, u32, size_t* count) {
  called(__func__);
  NEED_DRIVER();
  *count = collector().buffers().take_dropped();
  return kSuccess;
}

EXPORT int cuptiActivityPushExternalCorrelationId(u32 kind, u64 id) {
  called(__func__);
  if (kind == 0 || kind >= kExternalKinds) return kInvalidParameter;
  NEED_DRIVER();
  collector().push_external(kind, id);
  return kSuccess;
}

EXPORT int cuptiActivityPopExternalCorrelationId(u32 kind, u64* id) {
  called(__func__);
  if (kind == 0 || kind >= kExternalKinds) return kInvalidParameter;
  NEED_DRIVER();
  return collector().pop_external(kind, id) ? kSuccess : kQueueEmpty;
}

EXPORT int cuptiGetDeviceId(Context* context, u32* device) {
  called(__func__);
  NEED_DRIVER();
  if (context == nullptr) context = collector().driver()->current();
  if (context == nullptr) return kInvalidParameter;
  *device = u32(context->device->index);
  return kSuccess;
}

EXPORT int cuptiGetContextId(Context* context, u32* id) {
  called(__func__);
  NEED_DRIVER();
  if (context == nullptr) return kInvalidParameter;
  *id = context->id;
  return kSuccess;
}

EXPORT int cuptiGetStreamIdEx(Context*, void* stream, u8 per_thread, u32* id) {
  called(__func__);
  NEED_DRIVER();
  Stream* at = collector().driver()->stream(stream, per_thread != 0);
  if (at == nullptr) return kInvalidParameter;
  *id = at->id;
  return kSuccess;
}

EXPORT int cuptiGetStreamId(Context* context, void* stream, u32* id) {
  called(__func__);
  return cuptiGetStreamIdEx(context, stream, 0, id);
}

EXPORT int cuptiGetGraphId(Graph* graph, u32* id) {
  called(__func__);
  NEED_DRIVER();
  *id = graph->id;
  return kSuccess;
}

EXPORT int cuptiGetGraphExecId(GraphExec* exec, u32* id) {
  called(__func__);
  NEED_DRIVER();
  *id = exec->id;
  return kSuccess;
}

}  // namespace sim::cupti
