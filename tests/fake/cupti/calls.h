// What every exported function does first: it says that it was called, and needs a driver where it is told to.
#pragma once
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include "switches.h"

namespace sim::cupti {

inline bool driver_is_mapped() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver != nullptr) dlclose(driver);
  return driver != nullptr;
}

inline void called(const char* function) {
  if (number_of(Switch::SIMCUPTI_DRIVERLESS_CRASHES) != 0 && !driver_is_mapped()) abort();
  const char* path = text_of(Switch::SIMCUPTI_LOG);
  int log = *path != 0 ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
  if (log < 0) return;
  dprintf(log, "%s\n", function);
  close(log);
}

}  // namespace sim::cupti
