// The public ABI of NCCL, as far as the stub has it: own declarations.
#pragma once
#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstring>

namespace sim_nccl {

enum { kSuccess = 0, kUnhandledCudaError = 1, kInvalidArgument = 4 };

struct UniqueId {
  char bytes[128];
};

struct Comm {
  int rank = 0;
};

// ncclDataType_t: int8, uint8, int32, uint32, int64, uint64, float16, float32, float64, bfloat16, ...
inline size_t element_bytes(int type) {
  static constexpr size_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return type >= 0 && type < 12 ? kBytes[type] : 0;
}

// A function of the libcudart that is loaded, be it in the global scope or not.
inline void* find_runtime(const char* name) {
  if (void* global = dlsym(RTLD_DEFAULT, name)) return global;
  struct Search {
    const char* name;
    void* found;
  } search = {name, nullptr};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* search = static_cast<Search*>(data);
        if (strstr(info->dlpi_name, "libcudart.so") == nullptr) return 0;
        void* library = dlopen(info->dlpi_name, RTLD_NOW | RTLD_NOLOAD);
        if (library != nullptr) search->found = dlsym(library, search->name);
        return int(search->found != nullptr);
      },
      &search);
  return search.found;
}

}  // namespace sim_nccl
