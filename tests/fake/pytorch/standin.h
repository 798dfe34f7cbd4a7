// What the stand-ins for NVIDIA's libraries share. Each is compiled against the library's own header, which the
// environment has too; see `overlay`. They do no work: what a real library would compute is left as it was, and for
// each function that works on the device one kernel is launched, as by the runtime inside of the library: CUPTI sees
// the call, wrappers do not.
#pragma once
#include <dlfcn.h>
#include <string.h>

#include <map>
#include <mutex>
#include <string>

#include "driver/driver.h"

namespace sim::standin {

// What the handle of every library points to.
struct Handle {
  void* stream = nullptr;
};

template <typename T>
Handle& at(T handle) {
  return *reinterpret_cast<Handle*>(handle);
}

inline Driver* driver() {
  static Driver* found = [] {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    auto get = library ? reinterpret_cast<Driver* (*)()>(dlsym(library, "simcuda_driver")) : nullptr;
    return get ? get() : nullptr;
  }();
  return found;
}

inline bool ready() { return driver() != nullptr && driver()->initialize() == 0; }

// The pointer of a new handle or descriptor of any type. None is ever freed, as no object of the machine is.
template <typename T>
bool make(T** made) {
  *made = reinterpret_cast<T*>(new Handle);
  return ready();
}

inline Kernel* kernel_of(const char* name) {
  static std::mutex mutex;
  static auto* made = new std::map<std::string, Kernel*>;
  std::lock_guard<std::mutex> guard(mutex);
  Kernel*& kernel = (*made)[name];
  if (kernel == nullptr) {
    kernel = driver()->add_kernel(nullptr, name);
    kernel->registers = 168;
    kernel->shared_bytes = 49152;
    kernel->loaded = true;
  }
  return kernel;
}

// False: it was not launched.
inline bool launch(const char* name, void* handle, u64 rows = 1, u64 columns = 1, u64 batch = 1) {
  constexpr u32 kLaunchCbid = 211, kTile = 128;
  Stream* stream = driver() != nullptr ? driver()->stream(handle, false) : nullptr;
  if (stream == nullptr) return false;
  auto tiles = [](u64 size, u32 tile) { return u32(size > tile ? (size + tile - 1) / tile : 1); };
  Launch launch;
  launch.kernel = kernel_of(name);
  launch.grid = {tiles(rows, kTile), tiles(columns, kTile), tiles(batch, 1)};
  launch.block = {kTile, 1, 1};
  launch.stream = stream;
  Call call;
  call.domain = Domain::runtime;
  call.cbid = kLaunchCbid;
  call.name = "cudaLaunchKernel";
  driver()->enter(call);
  call.result = driver()->launch(launch);
  driver()->leave(call);
  return call.result == 0;
}

}  // namespace sim::standin
