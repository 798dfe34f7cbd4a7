// Notices libraries that are unloaded, after which their addresses may belong to others. See collect/native/images.h
// and resolve.h.
#include "collect/native/images.h"
#include "collect/native/native.h"
#include "export.h"
#include "libc.h"
#include "resolve.h"

extern "C" EXPORT int dlclose(void* handle) {
  int status = tprof::libc().dlclose(handle);
  tprof::forget_unloaded_callers();
  if (tprof::native_on()) tprof::images_closed();
  return status;
}
