// Versions, errors, devices, and the way to the driver's functions.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "driver/attributes.h"
#include "runtime.h"

namespace sim::body {

int cudaDriverGetVersion(int* version) {
  // Asked of the library itself: an old driver has a version too.
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  auto get = library != nullptr ? reinterpret_cast<Driver* (*)()>(dlsym(library, "simcuda_driver")) : nullptr;
  *version = get != nullptr ? get()->version() : 0;
  return kSuccess;
}

int cudaRuntimeGetVersion(int* version) {
  *version = SIM_MAJOR == 11 ? 11080 : SIM_MAJOR == 12 ? 12080 : 13000;
  return kSuccess;
}

int cudaGetLastError() {
  int error = last_error;
  last_error = kSuccess;
  return error;
}

int cudaPeekAtLastError() { return last_error; }

int cudaGetDeviceCount(int* count) {
  *count = driver()->device_count();
  return *count != 0 ? kSuccess : kErrorNoDevice;
}

static int fill_properties(DeviceProperties* out, int index) {
  Device* device = driver()->device(index);
  if (device == nullptr) return kErrorInvalidDevice;
  memset(out, 0, sizeof *out);
  auto attribute = [&](Attribute which) { return device_attribute(*device, which); };
  memcpy(out->name, device->name, sizeof device->name);
  memcpy(out->uuid, device->uuid, sizeof out->uuid);
  out->total_memory = device->memory_bytes;
  out->shared_per_block = attribute(Attribute::shared_per_block);
  out->registers_per_block = attribute(Attribute::registers_per_block);
  out->warp_size = attribute(Attribute::warp_size);
  out->pitch_limit = attribute(Attribute::pitch_limit);
  out->threads_per_block = attribute(Attribute::threads_per_block);
  for (int i = 0; i < 3; i++) {
    out->block_limits[i] = attribute(Attribute(int(Attribute::block_x) + i));
    out->grid_limits[i] = attribute(Attribute(int(Attribute::grid_x) + i));
  }
  out->constant_memory = attribute(Attribute::constant_memory);
  out->major = attribute(Attribute::major);
  out->minor = attribute(Attribute::minor);
  out->multiprocessors = attribute(Attribute::multiprocessors);
  out->can_map_host_memory = out->concurrent_kernels = out->unified_addressing = out->managed_memory = 1;
  out->pci_bus = attribute(Attribute::pci_bus);
  out->copy_engines = attribute(Attribute::copy_engines);
  out->memory_bus_bits = attribute(Attribute::memory_bus_bits);
  out->l2_bytes = attribute(Attribute::l2_bytes);
  out->threads_per_multiprocessor = attribute(Attribute::threads_per_multiprocessor);
  out->stream_priorities = out->cooperative_launch = 1;
  out->shared_per_multiprocessor = attribute(Attribute::shared_per_multiprocessor);
  out->registers_per_multiprocessor = attribute(Attribute::registers_per_multiprocessor);
  out->shared_per_block_optin = attribute(Attribute::shared_per_block_optin);
  out->blocks_per_multiprocessor = attribute(Attribute::blocks_per_multiprocessor);
  out->reserved_shared_per_block = attribute(Attribute::reserved_shared_per_block);
  return kSuccess;
}

#if SIM_MAJOR == 12
int cudaGetDeviceProperties_v2(DeviceProperties* out, int device) { return fill_properties(out, device); }
#else
int cudaGetDeviceProperties(DeviceProperties* out, int device) { return fill_properties(out, device); }
#endif

int cudaDeviceGetAttribute(int* value, int attribute, int index) {
  Device* device = driver()->device(index);
  if (device == nullptr) return kErrorInvalidDevice;
  *value = device_attribute(*device, Attribute(attribute));
  return kSuccess;
}

int cudaDeviceGetPCIBusId(char* text, int bytes, int device) {
  if (driver()->device(device) == nullptr) return kErrorInvalidDevice;
  snprintf(text, bytes, "0000:%02x:00.0", 0x17 + device);
  return kSuccess;
}

int cudaSetDevice(int device) {
  Context* context = driver()->primary(device);
  if (context == nullptr) return kErrorInvalidDevice;
  driver()->set_current(context);
  return kSuccess;
}

int cudaGetDevice(int* device) {
  *device = current_device();
  return kSuccess;
}

int cudaSetDeviceFlags(u32) { return kSuccess; }

int cudaGetDeviceFlags(u32* flags) {
  *flags = 0;
  return kSuccess;
}

int cudaDeviceReset() { return driver()->wait_context(); }

int cudaDeviceSynchronize() { return driver()->wait_context(); }

int cudaDeviceGetLimit(size_t* value, int limit) {
  *value = limit == 0 ? 1024 : 8 << 20;
  return kSuccess;
}

int cudaDeviceSetLimit(int, size_t) { return kSuccess; }

int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return kSuccess;
}

int cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = device != peer && driver()->device(device) != nullptr && driver()->device(peer) != nullptr;
  return kSuccess;
}

int cudaDeviceEnablePeerAccess(int peer, u32) {
  return driver()->device(peer) != nullptr ? kSuccess : kErrorInvalidDevice;
}

int cudaDeviceDisablePeerAccess(int peer) { return cudaDeviceEnablePeerAccess(peer, 0); }

int cudaProfilerStart() { return kSuccess; }

int cudaProfilerStop() { return kSuccess; }

int cudaGetDriverEntryPoint(const char* symbol, void** function, u64 flags, int* status) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  auto find = reinterpret_cast<int (*)(const char*, void**, int, u64, int*)>(dlsym(library, "cuGetProcAddress_v2"));
  int result = find(symbol, function, driver()->version(), flags, status);
  // A caller that takes the status is told there of a name that does not exist; the call itself has not failed.
  return result == kErrorSymbolNotFound && status != nullptr ? int(kSuccess) : result;
}

#if SIM_MAJOR >= 12
int cudaGetDriverEntryPointByVersion(const char* symbol, void** function, u32, u64 flags, int* status) {
  return cudaGetDriverEntryPoint(symbol, function, flags, status);
}
#endif

}  // namespace sim::body
