// Notices libraries that are unloaded, after which their addresses may belong to others. See collect/native/images.h
// and resolve.h.
#include <dlfcn.h>

#include "collect/native/images.h"
#include "collect/native/native.h"
#include "export.h"
#include "resolve.h"

extern "C" EXPORT int dlclose(void* handle) {
  static constinit std::atomic<int (*)(void*)> known{nullptr};
  auto real = known.load(std::memory_order_relaxed);
  if (!real)
    known.store(real = reinterpret_cast<int (*)(void*)>(dlsym(RTLD_NEXT, "dlclose")), std::memory_order_relaxed);
  int status = real(handle);
  tprof::forget_unloaded_callers();
  if (tprof::native_on()) tprof::images_closed();
  return status;
}
