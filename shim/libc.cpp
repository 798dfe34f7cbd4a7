#include "libc.h"

#include <dlfcn.h>

namespace tprof {

constinit Libc g_libc{};

void Libc::look_up() {
#define LIBC(result, name, ...) name = reinterpret_cast<decltype(name)>(dlsym(RTLD_NEXT, #name));
#define EXIT(name, ...) LIBC(void, name)
#define SIGNAL(name, ...) LIBC(Handler, name)
#include "libc.def"
  known.store(true, std::memory_order_release);
}

}  // namespace tprof
