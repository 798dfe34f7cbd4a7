// What the functions of the driver API do, thin, over Driver; those of code are in driver_code.cpp, those of memory in
// driver_memory.cpp and vmm.cpp.
#include <cstdio>
#include <cstring>

#include "attributes.h"
#include "driver_api.h"

namespace sim::driver_body {
namespace {

Driver& driver() { return *simcuda_driver(); }

thread_local std::vector<Context*> context_stack;

}  // namespace

int cuInit(u32) { return driver().initialize(); }

int cuDriverGetVersion(int* version) {
  *version = driver().version();
  return kSuccess;
}

int cuGetErrorString(int status, const char** text) {
  *text = status_text(status);
  return kSuccess;
}

int cuGetErrorName(int status, const char** name) {
  *name = status_name(status);
  return kSuccess;
}

// Of the driver's undocumented tables, the one by which libcupti recognises it. Nothing here calls its functions.
int cuGetExportTable(const void** table, const void* id) {
  static constexpr u8 kKnown[16] = {0x7c, 0xb6, 0x3f, 0x9b, 0x9c, 0xa4, 0x8e, 0x42,
                                    0xa4, 0x84, 0xbe, 0xb6, 0x6e, 0x6a, 0xed, 0x7f};
  static const size_t kEmpty[1] = {sizeof kEmpty};
  bool known = memcmp(id, kKnown, sizeof kKnown) == 0;
  *table = known ? kEmpty : nullptr;
  return known ? kSuccess : kErrorSymbolNotFound;
}

int cuDeviceGet(int* device, int ordinal) {
  if (driver().device(ordinal) == nullptr) return kErrorInvalidDevice;
  *device = ordinal;
  return kSuccess;
}

int cuDeviceGetCount(int* count) {
  *count = driver().device_count();
  return kSuccess;
}

int cuDeviceGetName(char* name, int bytes, int device) {
  if (driver().device(device) == nullptr) return kErrorInvalidDevice;
  snprintf(name, size_t(bytes), "%s", driver().device(device)->name);
  return kSuccess;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  if (driver().device(device) == nullptr) return kErrorInvalidDevice;
  *value = device_attribute(*driver().device(device), Attribute(attribute));
  return kSuccess;
}

int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  if (driver().device(device) == nullptr) return kErrorInvalidDevice;
  *bytes = driver().device(device)->memory_bytes;
  return kSuccess;
}

int cuDeviceGetUuid_v2(u8* uuid, int device) {
  if (driver().device(device) == nullptr) return kErrorInvalidDevice;
  memcpy(uuid, driver().device(device)->uuid, 16);
  return kSuccess;
}

int cuDevicePrimaryCtxRetain(Context** context, int device) {
  *context = driver().primary(device);
  return *context != nullptr ? kSuccess : kErrorInvalidDevice;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
  return driver().device(device) != nullptr ? kSuccess : kErrorInvalidDevice;
}

int cuDevicePrimaryCtxGetState(int device, u32* flags, int* active) {
  *flags = 0;
  *active = 0;
  for (Context* context : driver().contexts()) *active |= context->primary && context->device->index == device;
  return kSuccess;
}

int cuCtxCreate_v2(Context** context, u32, int device) {
  *context = driver().create_context(device);
  if (*context == nullptr) return kErrorInvalidDevice;
  context_stack.push_back(driver().current());
  driver().set_current(*context);
  return kSuccess;
}

int cuCtxDestroy_v2(Context* context) {
  if (context == nullptr) return kErrorDeviceUninitialized;
  if (driver().current() == context) driver().set_current(nullptr);
  return kSuccess;
}

int cuCtxSetCurrent(Context* context) {
  driver().set_current(context);
  return kSuccess;
}

int cuCtxGetCurrent(Context** context) {
  *context = driver().current();
  return kSuccess;
}

int cuCtxPushCurrent_v2(Context* context) {
  context_stack.push_back(driver().current());
  driver().set_current(context);
  return kSuccess;
}

int cuCtxPopCurrent_v2(Context** context) {
  if (context != nullptr) *context = driver().current();
  driver().set_current(context_stack.empty() ? nullptr : context_stack.back());
  if (!context_stack.empty()) context_stack.pop_back();
  return kSuccess;
}

int cuCtxGetDevice(int* device) {
  if (driver().current() == nullptr) return kErrorDeviceUninitialized;
  *device = driver().current()->device->index;
  return kSuccess;
}

int cuCtxSynchronize() { return driver().wait_context(); }

int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return kSuccess;
}

// 0: bytes of a thread's stack.
int cuCtxGetLimit(size_t* value, int limit) {
  *value = limit == 0 ? 1024 : 8 << 20;
  return kSuccess;
}

int cuCtxSetLimit(int, size_t) { return kSuccess; }

int cuStreamCreateWithPriority(Stream** stream, u32 flags, int priority) {
  if (driver().current() == nullptr) return kErrorDeviceUninitialized;
  *stream = driver().create_stream(flags, priority);
  return kSuccess;
}

int cuStreamCreate(Stream** stream, u32 flags) { return cuStreamCreateWithPriority(stream, flags, 0); }

int cuStreamDestroy_v2(void* stream) {
  Stream* at = api_stream(stream);
  return at != nullptr ? driver().destroy_stream(at) : int(kErrorInvalidResourceHandle);
}

int cuStreamSynchronize(void* stream) {
  Stream* at = api_stream(stream);
  return at != nullptr ? driver().wait_stream(at) : int(kErrorInvalidResourceHandle);
}

int cuStreamQuery(void* stream) {
  Stream* at = api_stream(stream);
  return at != nullptr ? driver().query_stream(at) : int(kErrorInvalidResourceHandle);
}

int cuStreamWaitEvent(void* stream, Event* event, u32) {
  Stream* at = api_stream(stream);
  return at != nullptr && event != nullptr ? driver().stream_wait_event(at, event) : int(kErrorInvalidResourceHandle);
}

int cuStreamGetCtx(void* stream, Context** context) {
  Stream* at = api_stream(stream);
  if (at == nullptr) return kErrorInvalidResourceHandle;
  *context = at->context;
  return kSuccess;
}

int cuStreamIsCapturing(void* stream, int* status) {
  Stream* at = api_stream(stream);
  if (at == nullptr) return kErrorInvalidResourceHandle;
  *status = at->capture != nullptr;
  return kSuccess;
}

int cuEventCreate(Event** event, u32 flags) {
  *event = driver().create_event((flags & 2) == 0);
  return kSuccess;
}

int cuEventDestroy_v2(Event* event) { return event != nullptr ? kSuccess : kErrorInvalidResourceHandle; }

int cuEventRecord(Event* event, void* stream) {
  Stream* at = api_stream(stream);
  return at != nullptr && event != nullptr ? driver().record_event(event, at) : int(kErrorInvalidResourceHandle);
}

int cuEventSynchronize(Event* event) {
  return event != nullptr ? driver().wait_event(event) : int(kErrorInvalidResourceHandle);
}

int cuEventQuery(Event* event) {
  return event != nullptr ? driver().query_event(event) : int(kErrorInvalidResourceHandle);
}

int cuEventElapsedTime(float* ms, Event* begin, Event* end) {
  if (begin == nullptr || end == nullptr || !begin->recorded || !end->recorded) return kErrorInvalidResourceHandle;
  *ms = float(double(i64(end->time - begin->time)) * 1e-6);
  return kSuccess;
}

int cuProfilerStart() { return kSuccess; }

int cuProfilerStop() { return kSuccess; }

}  // namespace sim::driver_body
